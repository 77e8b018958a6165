#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# In the guest: two users share a card, and vtactl export samples it every two seconds. Writes the
# samples of the compute engine to /out/users.prom, each behind a line "# at SECONDS".
set -eu

modprobe vta 2>/dev/null || insmod /lib/vta.ko
chmod 666 /dev/vta0
# Input values of more runs than there is time for
head -c $((784 * 4 * 4000)) /dev/zero > /tmp/images
as() {
	/root/setpriv --reuid="$1" --clear-groups /bin/vtactl program run --cards=/dev/vta0 \
		/mnist.vtap @0=/tmp/images > "/tmp/$1" 2>&1 &
}
now() {
	cut -d' ' -f1 /proc/uptime
}
begin=$(now)
since() {
	echo "$begin $(now)" | awk '{ printf "%.2f\n", $2 - $1 }'
}
until_second() {
	while echo "$(since) $1" | awk '{ exit $1 >= $2 }'; do
		echo "# at $(since)" >> /out/users.prom
		vtactl export | grep -E '^vta_(client|engine)_busy_seconds_total.*engine="compute"' \
			>> /out/users.prom
		sleep 2
	done
}

until_second 4
as 1000
first=$!
until_second 30
as 1001
until_second 60
echo 1000 3 > /sys/class/vta/vta0/user_weights
echo "# weight of user 1000: 3 at $(since)" >> /out/users.prom
until_second 90
kill "$first"
until_second 110
kill "$!"
cat /tmp/1000 /tmp/1001
