# SPDX-License-Identifier: GPL-2.0-only
#
# The chart of model.dat: the share of the sum of the rooflines.
#   gnuplot -e "data='...'; chart='...'; run='...'" model.gp

set terminal svg size 900,420 background rgb "white" font "sans-serif,13"
set output chart
set title "Real networks, cycles by the card's model" offset 0,1
set label run at graph 0.5,1.03 center noenhanced font ",10"
set ylabel "share of the roofline"
set yrange [0:1]
set style fill solid 0.8
set boxwidth 0.6
set grid y
unset key

plot data using 0:2:xtic(1) with boxes lc 3, 0.7 with lines lc rgb "gray" dt 3
