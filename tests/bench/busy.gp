# SPDX-License-Identifier: GPL-2.0-only
#
# The chart of busy.dat: share of time in which the card computes, by a job's length.

set terminal svg size 900,500 background rgb "white" font "sans-serif,13"
set output chart
set title "How busy the card is, in modelled time" offset 0,1
set label run at graph 0.5,1.03 center noenhanced font ",10"
set xlabel "a job, us"
set ylabel "share of time"
set logscale x 10
set yrange [0:1.05]
set grid
set key bottom right
plot data using 1:2 with linespoints pt 7 title "one job at a time", \
	data using 1:3 with linespoints pt 7 title "2 under way", \
	data using 1:4 with linespoints pt 7 title "8 under way", \
	0.99 with lines lc rgb "gray" dt 3 title "0.99"
