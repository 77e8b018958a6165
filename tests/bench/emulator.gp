# SPDX-License-Identifier: GPL-2.0-only
#
# The chart of emulator.dat: GEMM by plain loops and by the emulated core.

set terminal svg size 700,460 background rgb "white" font "sans-serif,13"
set output chart
set title "GEMM of the emulated core" offset 0,1
set label run at graph 0.5,1.03 center noenhanced font ",10"
set ylabel "millions of micro-ops per second"
set style data histograms
set style fill solid 0.6
set yrange [0:*]
set grid ytics
set key top left
plot data using 2:xtic(1) title "plain loops", data using 3 title "emulated core"
