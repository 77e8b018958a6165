# SPDX-License-Identifier: GPL-2.0-only
#
# The chart of pool.dat: what a pool does in a second, by its cards.

set terminal svg size 900,500 background rgb "white" font "sans-serif,13"
set output chart
set title "One program on several cards, in modelled time" offset 0,1
set label run at graph 0.5,1.03 center noenhanced font ",10"
set xlabel "cards"
set ylabel "runs in a second of the cards' time"
set xtics 1
set yrange [0:*]
set grid
set key left
plot data using 1:2 with linespoints pt 7 title "measured", \
	data using 1:3 with lines dt 3 title "cards / time of a run"
