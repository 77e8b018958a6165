# SPDX-License-Identifier: GPL-2.0-only
#
# The chart of scale.dat: what processes on one card get, by how many there are.

set terminal svg size 900,500 background rgb "white" font "sans-serif,13"
set output chart
set title "Processes on one card, in modelled time" offset 0,1
set label run at graph 0.5,1.03 center noenhanced font ",10"
set xlabel "processes"
set logscale x 2
set yrange [0.9:1.2]
set grid
plot data using 1:2 with linespoints pt 7 title "all together / one alone", \
	data using 1:3 with linespoints pt 7 title "most / least of one process", \
	0.98 with lines lc 1 dt 3 title "0.98", 1.1 with lines lc 2 dt 3 title "1.1"
