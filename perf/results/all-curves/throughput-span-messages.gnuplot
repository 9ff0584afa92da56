set terminal svg size 900,540 noenhanced
set output 'throughput-span-messages.svg'
set title 'throughput-span-messages'
set xlabel 'bytes of a message'
set ylabel 'messages/s'
set yrange [0:*]
set style data histograms
set style fill solid 0.8 border -1
set key below
set grid
plot 'throughput-span-messages.dat' using 2:xtic(1) title '1 + 1 sent', \
     'throughput-span-messages.dat' using 3:xtic(1) title '1 + 1 consumed', \
     'throughput-span-messages.dat' using 4:xtic(1) title '1 + 1 EQueue 2.0'
