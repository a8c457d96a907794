package wire

import "iter"

// How much one message of statuses holds at most; the bytes, as weigh counts them, are
// well below MaxMessage, since texts grow when they are encoded.
const (
	manyStatuses = 1000
	statusBytes  = 512 << 10
)

// InMessages yields statuses in their order, in as few messages as it takes that
// [MaxMessage] lets through. Each is within the bounds of [offers.Status.Cut].
func InMessages(statuses []TaskStatus) iter.Seq[*Statuses] {
	return func(yield func(*Statuses) bool) {
		first, weight := 0, 0
		for i := range statuses {
			more := statuses[i].weigh()
			if i > first && (i == first+manyStatuses || weight+more > statusBytes) {
				if !yield(&Statuses{Statuses: statuses[first:i]}) {
					return
				}
				first, weight = i, 0
			}
			weight += more
		}
		if first < len(statuses) {
			yield(&Statuses{Statuses: statuses[first:]})
		}
	}
}

// weigh returns about how many bytes a status takes in a message.
func (s *TaskStatus) weigh() int {
	weight := 384 + len(s.Framework) + len(s.LaunchID) + len(s.Task) + len(s.UpdateID) + len(s.Reason) + len(s.Message) + len(s.Signal) + len(s.Address)
	for class, grants := range s.Devices {
		weight += len(class) + 8
		for i := range grants {
			weight += len(grants[i].ID) + 64
		}
	}
	return weight
}
