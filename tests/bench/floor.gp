# SPDX-License-Identifier: GPL-2.0-only
#
# The chart of floor.dat: what a launch costs besides its own time, by way.

set terminal svg size 900,460 background rgb "white" font "sans-serif,13"
set output chart
set title "A launch and its end, but for the descriptor's own time" offset 0,1
set label run at graph 0.5,1.03 center noenhanced font ",10"
set ylabel "us, median"
set yrange [0:*]
set style fill solid 0.6
set boxwidth 0.7
set grid ytics
set xtics noenhanced font ",10"
plot data using 0:2:xtic(1) with boxes lc 1 notitle, \
	data using 0:2:(sprintf("%.1f", $2)) with labels offset 0,0.7 notitle
