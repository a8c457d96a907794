package offers

import (
	"encoding/hex"
	"errors"
	"fmt"
	"net/url"
	"path"
	"strings"
)

// Artifact is a file that the agent fetches into a task's sandbox before the
// task starts, as it is or unpacked.
type Artifact struct {
	URI        string `json:"uri"`                  // http, https or file
	SHA256     string `json:"sha256,omitempty"`     // of the file as fetched, in hex; checked before it is used
	Extract    bool   `json:"extract,omitempty"`    // it is a tar, tar.gz or zip and is unpacked
	Executable bool   `json:"executable,omitempty"` // the file may be run
	Dest       string `json:"dest,omitempty"`       // see Path
}

// MaxArtifacts bounds the artifacts of one task.
const MaxArtifacts = 64

// Path returns where in the sandbox the artifact goes. With Extract that is
// the folder Dest, the sandbox itself by default. Otherwise it is the file
// Dest, or a file named as in the URI: in the folder Dest if that ends with a
// slash, in the sandbox itself by default.
func (a *Artifact) Path() string {
	if !a.Extract && (a.Dest == "" || strings.HasSuffix(a.Dest, "/")) {
		return path.Join(a.Dest, a.name())
	}
	return path.Clean(a.Dest)
}

// name is the last part of the URI's path, "" if there is none.
func (a *Artifact) name() string {
	u, err := url.Parse(a.URI)
	if err != nil {
		return ""
	}
	name := path.Base(path.Clean("/" + u.Path))
	if name == "/" {
		return ""
	}
	return name
}

// Shown returns the URI without what may be secret in it: user, password,
// query and fragment.
func (a *Artifact) Shown() string {
	u, err := url.Parse(a.URI)
	if err != nil {
		return "a URI that can't be read"
	}
	plain := (&url.URL{Scheme: u.Scheme, Host: u.Host, Path: u.Path}).String()
	if len(plain) > 200 {
		return plain[:197] + "..."
	}
	return plain
}

// validArtifacts names the first artifact that no agent could fetch. Messages
// never hold the URI, since there may be credentials in it.
func validArtifacts(list []Artifact) error {
	if len(list) > MaxArtifacts {
		return fmt.Errorf("artifacts: %d are more than the %d that a task may have", len(list), MaxArtifacts)
	}
	files := map[string]int{}
	for i := range list {
		a := &list[i]
		if err := a.validate(); err != nil {
			return fmt.Errorf("artifacts[%d].%w", i, err)
		}
		if a.Extract {
			continue
		}
		if other, taken := files[a.Path()]; taken {
			return fmt.Errorf("artifacts[%d].dest: it is the same file as that of artifacts[%d]", i, other)
		}
		files[a.Path()] = i
	}
	return nil
}

func (a *Artifact) validate() error {
	if err := validURI(a.URI); err != nil {
		return fmt.Errorf("uri: %w", err)
	}
	if sum, err := hex.DecodeString(a.SHA256); a.SHA256 != "" && (err != nil || len(sum) != 32) {
		return fmt.Errorf("sha256: %q is not 64 hexadecimal digits", clip(a.SHA256))
	}
	if a.Extract && a.Executable {
		return errors.New("executable: an archive that is unpacked says itself which of its files are")
	}
	if len(a.Dest) > 1024 || !Printable(a.Dest) || !local(a.Dest) {
		return fmt.Errorf("dest: %q is not a path inside the sandbox", clip(a.Dest))
	}
	switch {
	case !a.Extract && a.Dest == "" && a.name() == "":
		return errors.New("dest: it is missing, and the URI has no file name")
	case !a.Extract && (!Printable(a.name()) || a.Path() == "." || a.name() == "" && strings.HasSuffix(a.Dest, "/")):
		return errors.New("dest: the file has no name")
	case a.Path() == "stdout" || a.Path() == "stderr":
		return fmt.Errorf("dest: %s is what the task writes its output to", a.Path())
	}
	return nil
}

func validURI(text string) error {
	u, err := url.Parse(text)
	switch {
	case text == "":
		return errors.New("it is missing")
	case len(text) > 8192:
		return errors.New("it is longer than 8192 bytes")
	case err != nil || !Printable(text):
		return errors.New("it is not a URI such as https://host/file")
	case u.Scheme == "file" && (u.Host != "" && u.Host != "localhost" || u.Opaque != "" || !path.IsAbs(u.Path) || strings.ContainsRune(u.Path, 0)):
		return errors.New("a file URI is file:// and an absolute path")
	case u.Scheme == "file":
		return nil
	case u.Scheme != "http" && u.Scheme != "https":
		return errors.New("its scheme is not http, https or file")
	case u.Hostname() == "" || u.Opaque != "":
		return errors.New("it names no host")
	}
	return nil
}

// local reports whether a path stays where it begins.
func local(p string) bool {
	clean := path.Clean(p)
	return !path.IsAbs(p) && clean != ".." && !strings.HasPrefix(clean, "../")
}
