# SPDX-License-Identifier: GPL-2.0-only
#
# The chart of polling.dat: what a layer takes, by the way it is launched.

set terminal svg size 900,500 background rgb "white" font "sans-serif,13"
set output chart
set title "A layer of a network of eight" offset 0,1
set label run at graph 0.5,1.03 center noenhanced font ",10"
set xlabel "dense layer: rows x inputs x outputs"
set ylabel "us, median"
set style data histograms
set style fill solid 0.6
set yrange [0:*]
set grid ytics
set key top left
set xtics noenhanced
plot data using 2:xtic(1) title "launch, poll a register, next", \
	data using 3 title "launch, wait, next", data using 4 title "all by one doorbell"
