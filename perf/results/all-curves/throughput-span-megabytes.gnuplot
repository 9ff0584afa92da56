set terminal svg size 900,540 noenhanced
set output 'throughput-span-megabytes.svg'
set title 'throughput-span-megabytes'
set xlabel 'bytes of a message'
set ylabel 'MB/s of bodies'
set yrange [0:*]
set style data histograms
set style fill solid 0.8 border -1
set key below
set grid
plot 'throughput-span-megabytes.dat' using 2:xtic(1) title '1 + 1 consumed', \
     'throughput-span-megabytes.dat' using 3:xtic(1) title '1 + 1 limit'
