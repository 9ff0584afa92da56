set terminal svg size 900,540 noenhanced
set output 'throughput-sync-flush-messages.svg'
set title 'throughput-sync-flush-messages'
set xlabel 'bytes of a message'
set ylabel 'messages/s'
set yrange [0:*]
set style data histograms
set style fill solid 0.8 border -1
set key below
set grid
plot 'throughput-sync-flush-messages.dat' using 2:xtic(1) title '1 + 1 sent', \
     'throughput-sync-flush-messages.dat' using 3:xtic(1) title '1 + 1 consumed', \
     'throughput-sync-flush-messages.dat' using 4:xtic(1) title '1 + 1 EQueue 2.0', \
     'throughput-sync-flush-messages.dat' using 5:xtic(1) title '2 + 2 sent', \
     'throughput-sync-flush-messages.dat' using 6:xtic(1) title '2 + 2 consumed', \
     'throughput-sync-flush-messages.dat' using 7:xtic(1) title '2 + 2 EQueue 2.0'
