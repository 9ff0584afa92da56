set terminal svg size 900,540 noenhanced
set output 'throughput-1000-queues-messages.svg'
set title 'throughput-1000-queues-messages'
set xlabel 'bytes of a message'
set ylabel 'messages/s'
set yrange [0:*]
set style data histograms
set style fill solid 0.8 border -1
set key below
set grid
plot 'throughput-1000-queues-messages.dat' using 2:xtic(1) title '1 + 1 sent', \
     'throughput-1000-queues-messages.dat' using 3:xtic(1) title '1 + 1 consumed', \
     'throughput-1000-queues-messages.dat' using 4:xtic(1) title '1 + 1 EQueue 2.0', \
     'throughput-1000-queues-messages.dat' using 5:xtic(1) title '2 + 2 sent', \
     'throughput-1000-queues-messages.dat' using 6:xtic(1) title '2 + 2 consumed', \
     'throughput-1000-queues-messages.dat' using 7:xtic(1) title '2 + 2 EQueue 2.0'
