package wire

// How much one message of [AgentTasks] holds at most; the bytes, as Weigh counts them,
// are well below MaxMessage, as those of statuses are.
const (
	manyListed  = 1000
	listedBytes = 512 << 10
)

// Registration returns the frames that register an agent: that of m alone where it is no
// larger than a master receives, as all of them know, or else several, see [AgentTasks].
func Registration(form Form, m *RegisterAgent) ([][]byte, error) {
	if len(m.Tasks) <= MaxListed {
		frame, err := form.Encode(m, "")
		if err != nil || len(frame) <= MaxMessage {
			return [][]byte{frame}, err
		}
	}
	var frames [][]byte
	say := func(part *AgentTasks) error {
		frame, err := form.Encode(part, "")
		frames = append(frames, frame)
		return err
	}
	bare := *m
	bare.Tasks = nil
	first, weight := 0, 0
	for i := range m.Tasks {
		more := m.Tasks[i].Weigh()
		if i > first && (i == first+manyListed || weight+more > listedBytes) {
			if err := say(&AgentTasks{Tasks: m.Tasks[first:i]}); err != nil {
				return nil, err
			}
			first, weight = i, 0
		}
		weight += more
	}
	return frames, say(&AgentTasks{Tasks: m.Tasks[first:], All: len(m.Tasks), Register: &bare})
}

// Weigh returns about how many bytes the task takes in a message, and in memory.
func (t *AgentTask) Weigh() int {
	weight := 384 + len(t.Framework) + len(t.Task) + len(t.LaunchID) + len(t.State) + 16*len(t.Holding.Ports)
	for _, held := range t.Holding.Devices {
		weight += len(held.Class) + 64
		for i := range held.Grants {
			weight += len(held.Grants[i].ID) + 64
		}
	}
	return weight
}
