package replay

import (
	"encoding/csv"
	"io"
	"strconv"
)

// WriteSamples writes the results as CSV, a row per policy and moment, as means
// over the runs: seconds since the beginning (0 where nothing ends), what had
// arrived in % of all (likewise), then % of all by kind.
func WriteSamples(out io.Writer, results []Result) error {
	w := csv.NewWriter(out)
	heading := []string{"placement", "seconds", "arrived"}
	for _, word := range []string{"used_", "stranded_"} {
		for _, kind := range Kinds {
			heading = append(heading, word+kind)
		}
	}
	w.Write(append(heading, "idle_devices", "waiting", "fair_share_error"))
	for i := range results {
		for _, s := range results[i].Samples {
			row := []string{string(results[i].Policy), number(s.At.Seconds()), number(s.Arrived)}
			for _, of := range [][kindCount]float64{s.Used, s.Stranded} {
				for _, n := range of {
					row = append(row, number(n))
				}
			}
			w.Write(append(row, number(s.Idle), number(s.Waiting), number(s.Unfair)))
		}
	}
	w.Flush()
	return w.Error()
}

// number writes thousandths at most.
func number(n float64) string {
	return strconv.FormatFloat(float64(int64(n*1000+0.5))/1000, 'f', -1, 64)
}
