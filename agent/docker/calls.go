package docker

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/ringmaster-project/ringmaster/agent/process/record"
)

// The engine's own words, as far as they are needed here.
type (
	createBody struct {
		Image        string
		Entrypoint   []string            `json:",omitempty"`
		Cmd          []string            `json:",omitempty"`
		Env          []string            `json:",omitempty"`
		User         string              `json:",omitempty"`
		WorkingDir   string              `json:",omitempty"`
		Labels       map[string]string   `json:",omitempty"`
		ExposedPorts map[string]struct{} `json:",omitempty"`
		HostConfig   hostConfig
	}
	hostConfig struct {
		NetworkMode    string
		Mounts         []mount                  `json:",omitempty"`
		PortBindings   map[string][]portBinding `json:",omitempty"`
		CPUShares      int64                    `json:"CpuShares,omitempty"`
		NanoCPUs       int64                    `json:"NanoCpus,omitempty"`
		Memory         int64                    `json:",omitempty"`
		MemorySwap     int64                    `json:",omitempty"`
		PidsLimit      int64                    `json:",omitempty"`
		GroupAdd       []string                 `json:",omitempty"`
		Devices        []deviceNode             `json:",omitempty"`
		DeviceRequests []deviceRequest          `json:",omitempty"`
		LogConfig      logConfig
	}
	mount struct {
		Type     string
		Source   string
		Target   string
		ReadOnly bool
	}
	portBinding   struct{ HostPort string }
	deviceNode    struct{ PathOnHost, PathInContainer, CgroupPermissions string }
	deviceRequest struct {
		Driver    string
		DeviceIDs []string
	}
	logConfig struct {
		Type   string
		Config map[string]string
	}

	details struct {
		ID     string `json:"Id"`
		State  state
		Config struct {
			User       string
			StopSignal string
			Labels     map[string]string
		}
		ExecIDs []string // of commands that run beside
	}
	state struct {
		Status     string
		Running    bool // paused ones too
		Pid        int  // of its first process, while it runs
		OOMKilled  bool
		ExitCode   int
		Error      string
		StartedAt  time.Time
		FinishedAt time.Time
	}
	execBody struct {
		Cmd []string
		Env []string `json:",omitempty"`

		Tty, AttachStdin, AttachStdout, AttachStderr bool `json:",omitempty"`
	}
	execDetails struct {
		Running       bool
		ExitCode      *int
		Pid           int //nolint:revive // the engine's spelling
		ProcessConfig struct {
			Entrypoint string
			Arguments  []string
		}
	}
	summary struct {
		ID     string `json:"Id"`
		State  string
		Labels map[string]string
	}
)

func (e *engine) create(ctx context.Context, name string, body createBody) (string, error) {
	var made struct {
		ID string `json:"Id"`
	}
	err := e.call(ctx, http.MethodPost, "/containers/create", url.Values{"name": {name}}, body, &made)
	return made.ID, err
}

func (e *engine) start(ctx context.Context, id string) error {
	return e.call(ctx, http.MethodPost, "/containers/"+id+"/start", nil, nil, nil)
}

func (e *engine) inspect(ctx context.Context, id string) (d details, err error) {
	return d, e.call(ctx, http.MethodGet, "/containers/"+id+"/json", nil, nil, &d)
}

// wait returns the exit code once the container does not run any more.
func (e *engine) wait(ctx context.Context, id string) (int, error) {
	answer, err := e.open(ctx, http.MethodPost, "/containers/"+id+"/wait", nil, nil)
	if err != nil {
		return 0, err
	}
	defer answer.Body.Close()
	var ended struct{ StatusCode int }
	if err := json.NewDecoder(answer.Body).Decode(&ended); err != nil {
		return 0, e.away(ctx, err)
	}
	return ended.StatusCode, nil
}

func (e *engine) kill(ctx context.Context, id, signal string) error {
	return e.call(ctx, http.MethodPost, "/containers/"+id+"/kill", url.Values{"signal": {signal}}, nil, nil)
}

// execCreate prepares a command that runs beside the container's own.
func (e *engine) execCreate(ctx context.Context, id string, body execBody) (string, error) {
	var made struct {
		ID string `json:"Id"`
	}
	err := e.call(ctx, http.MethodPost, "/containers/"+id+"/exec", nil, body, &made)
	return made.ID, err
}

func (e *engine) execStart(ctx context.Context, exec string) error {
	return e.call(ctx, http.MethodPost, "/exec/"+exec+"/start", nil, map[string]bool{"Detach": true}, nil)
}

func (e *engine) execResize(ctx context.Context, exec string, s record.Size) error {
	query := url.Values{"h": {strconv.Itoa(int(s.Rows))}, "w": {strconv.Itoa(int(s.Columns))}}
	return e.call(ctx, http.MethodPost, "/exec/"+exec+"/resize", query, nil, nil)
}

func (e *engine) execInspect(ctx context.Context, exec string) (d execDetails, err error) {
	return d, e.call(ctx, http.MethodGet, "/exec/"+exec+"/json", nil, nil, &d)
}

func (d *execDetails) ended() bool { return !d.Running && d.ExitCode != nil }

func (d *execDetails) args() []string {
	return append([]string{d.ProcessConfig.Entrypoint}, d.ProcessConfig.Arguments...)
}

// remove takes a container and its nameless volumes away; without force it is
// refused (409) while the container runs. One that is gone is no error.
func (e *engine) remove(ctx context.Context, id string, force bool) error {
	query := url.Values{"v": {"true"}, "force": {strconv.FormatBool(force)}}
	err := e.call(ctx, http.MethodDelete, "/containers/"+id, query, nil, nil)
	if refused(err, http.StatusNotFound) {
		return nil
	}
	return err
}

// list returns the containers that a filter lets through, ended ones too.
func (e *engine) list(ctx context.Context, by, value string) (all []summary, err error) {
	query := url.Values{"all": {"true"}, "filters": {filters(by, value)}}
	return all, e.call(ctx, http.MethodGet, "/containers/json", query, nil, &all)
}

func filters(pairs ...string) string {
	set := map[string][]string{}
	for i := 0; i < len(pairs); i += 2 {
		set[pairs[i]] = []string{pairs[i+1]}
	}
	text, err := json.Marshal(set)
	if err != nil {
		panic("docker: a string can't be written as JSON: " + err.Error())
	}
	return string(text)
}

// event is what the engine remembers of its last few hundred.
type event struct {
	Action string
	Actor  struct{ Attributes map[string]string }
	Time   int64 `json:"timeNano"`
}

// history returns what the engine remembers until now, of a container or with
// "" of all.
func (e *engine) history(ctx context.Context, id string) (past []event, err error) {
	query := url.Values{
		"since": {"1"}, "until": {strconv.FormatFloat(float64(time.Now().UnixMicro())/1e6, 'f', 6, 64)},
		"filters": {filters("type", "container")},
	}
	if id != "" {
		query.Set("filters", filters("container", id, "type", "container"))
	}
	answer, err := e.open(ctx, http.MethodGet, "/events", query, nil)
	if err != nil {
		return nil, err
	}
	defer answer.Body.Close()
	for in := json.NewDecoder(answer.Body); ; {
		var one event
		switch err := in.Decode(&one); {
		case errors.Is(err, io.EOF):
			return past, nil
		case err != nil:
			return nil, e.away(ctx, err)
		}
		past = append(past, one)
	}
}

// pull fetches an image. What fails at the registry comes in the midst of the
// engine's answer, after its success.
func (e *engine) pull(ctx context.Context, image string, progress func(status string)) error {
	name, tag := imageParts(image)
	answer, err := e.open(ctx, http.MethodPost, "/images/create", url.Values{"fromImage": {name}, "tag": {tag}}, nil)
	if err != nil {
		return err
	}
	defer answer.Body.Close()
	for in := json.NewDecoder(answer.Body); ; {
		var line struct{ ID, Status, Progress, Error string }
		switch err := in.Decode(&line); {
		case errors.Is(err, io.EOF):
			return nil
		case err != nil:
			return e.away(ctx, err)
		case line.Error != "":
			return &refusal{http.StatusBadGateway, sentence(line.Error)}
		}
		progress(strings.TrimSpace(line.ID + " " + line.Status + " " + line.Progress))
	}
}

// imageParts splits the tag or digest off. Without one an engine would fetch
// every tag that there is.
func imageParts(image string) (name, tag string) {
	if name, digest, ok := strings.Cut(image, "@"); ok {
		return name, digest
	}
	if at := strings.LastIndexByte(image, ':'); at > strings.LastIndexByte(image, '/') {
		return image[:at], image[at+1:]
	}
	return image, "latest"
}

// logs opens what was logged of a container since then; zero: from its first
// byte on.
func (e *engine) logs(ctx context.Context, id string, since time.Time, follow bool) (io.ReadCloser, error) {
	query := url.Values{"stdout": {"true"}, "stderr": {"true"}, "follow": {strconv.FormatBool(follow)}}
	if !since.IsZero() {
		query.Set("since", fmt.Sprintf("%d.%09d", since.Unix(), since.Nanosecond()))
	}
	answer, err := e.open(ctx, http.MethodGet, "/containers/"+id+"/logs", query, nil)
	if err != nil {
		return nil, err
	}
	return answer.Body, nil
}

// attach opens what a container writes from now on, as it writes it.
func (e *engine) attach(ctx context.Context, id string) (io.ReadCloser, error) {
	query := url.Values{"stream": {"true"}, "stdout": {"true"}, "stderr": {"true"}}
	answer, err := e.open(ctx, http.MethodPost, "/containers/"+id+"/attach", query, nil)
	if err != nil {
		return nil, err
	}
	return answer.Body, nil
}

// file returns the beginning of a file in a container, as a tar archive.
func (e *engine) file(ctx context.Context, id, path string) (io.ReadCloser, error) {
	answer, err := e.open(ctx, http.MethodGet, "/containers/"+id+"/archive", url.Values{"path": {path}}, nil)
	if err != nil {
		return nil, fmt.Errorf("read %s of the container: %w", path, err)
	}
	return answer.Body, nil
}
