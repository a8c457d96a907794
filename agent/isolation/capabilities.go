package isolation

import (
	"fmt"
	"slices"
	"strings"
)

// capabilities are named as in capabilities(7), in the order of their numbers.
var capabilities = strings.Fields(`chown dac_override dac_read_search fowner fsetid kill setgid setuid setpcap
	linux_immutable net_bind_service net_broadcast net_admin net_raw ipc_lock ipc_owner sys_module sys_rawio
	sys_chroot sys_ptrace sys_pacct sys_admin sys_boot sys_nice sys_resource sys_time sys_tty_config mknod lease
	audit_write audit_control setfcap mac_override mac_admin syslog wake_alarm block_suspend audit_read perfmon
	bpf checkpoint_restore`)

// ParseCapabilities reads names such as net_bind_service or
// CAP_NET_BIND_SERVICE into one bit for each.
func ParseCapabilities(words []string) (uint64, error) {
	var keep uint64
	for _, word := range words {
		at := slices.Index(capabilities, strings.TrimPrefix(strings.ToLower(word), "cap_"))
		if at < 0 {
			return 0, fmt.Errorf("%.60q is no capability such as net_bind_service", word)
		}
		keep |= 1 << at
	}
	return keep, nil
}
