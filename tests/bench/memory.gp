# SPDX-License-Identifier: GPL-2.0-only
#
# The chart of memory.dat: speed of copies by size, as a ratio to memcpy.
#   gnuplot -e "data='...'; chart='...'; run='...'" memory.gp

set terminal svg size 900,560 background rgb "white" font "sans-serif,13"
set output chart
set datafile missing "NaN"
set title "Copies on the emulated card" offset 0,1
set label run at graph 0.5,1.03 center noenhanced font ",10"
set xlabel "bytes"
set ylabel "speed / memcpy by the emulator"
set logscale x 2
set logscale y 10
set xtics ("64" 64, "1 Ki" 1024, "16 Ki" 16384, "256 Ki" 262144, \
	"4 Mi" 4194304, "64 Mi" 67108864)
set yrange [0.001:3]
set grid
set key bottom right

# Columns 5 and 10 compare with a memcpy of the same pages.
plot data using 1:2 with linespoints lc 1 pt 7 title "host to card, coherent", \
	data using 1:3 with linespoints lc 2 pt 7 title "host to card, pinned", \
	data using 1:4 with linespoints lc 5 pt 7 title "host to card, pinned, scattered", \
	data using 1:6 with linespoints lc 3 pt 7 title "host to card, library", \
	data using 1:7 with linespoints lc 1 dt 2 pt 6 title "card to host, coherent", \
	data using 1:8 with linespoints lc 2 dt 2 pt 6 title "card to host, pinned", \
	data using 1:9 with linespoints lc 5 dt 2 pt 6 title "card to host, pinned, scattered", \
	data using 1:11 with linespoints lc 3 dt 2 pt 6 title "card to host, library", \
	data using 1:12 with linespoints lc 4 pt 5 title "card to card", \
	0.95 with lines lc rgb "gray" dt 3 title "0.95"
