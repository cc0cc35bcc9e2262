package specstore

import (
	"context"
	"embed"
	"fmt"
	"path"
	"strings"

	"github.com/redis/go-redis/v9"
)

//go:embed lua/*.lua
var luaFiles embed.FS

// loadScripts puts lua/lib.lua in front of each transition.
func loadScripts() (map[string]*redis.Script, error) {
	lib, err := luaFiles.ReadFile("lua/lib.lua")
	if err != nil {
		return nil, err
	}
	entries, err := luaFiles.ReadDir("lua")
	if err != nil {
		return nil, err
	}
	scripts := make(map[string]*redis.Script, len(entries))
	for _, e := range entries {
		body, err := luaFiles.ReadFile(path.Join("lua", e.Name()))
		if err != nil {
			return nil, err
		}
		scripts[strings.TrimSuffix(e.Name(), ".lua")] = redis.NewScript(string(lib) + "\n" + string(body))
	}
	return scripts, nil
}

// run runs one script by its digest, or by its text where the server does not
// know it, and gives its reply, whose first word is the verdict.
func (s *Store) run(ctx context.Context, name string, keys []string, args ...any) ([]string, error) {
	reply, err := s.scripts[name].Run(ctx, s.rdb, keys, args...).StringSlice()
	if err != nil {
		return nil, classify(err)
	}
	if len(reply) == 0 {
		return nil, fmt.Errorf("script %s: empty reply", name)
	}
	if reply[0] == "type" && len(reply) == 4 {
		return nil, fmt.Errorf("key %s holds a %s, not a %s: move it away or choose another prefix; nothing was written",
			reply[1], reply[2], reply[3])
	}
	return reply, nil
}

// strange is for a reply that no script gives.
func strange(name string, reply []string) error {
	return fmt.Errorf("script %s: unexpected reply %q", name, reply[0])
}

// fields turns the flat reply of HGETALL into a map.
func fields(flat []string) map[string]string {
	m := make(map[string]string, len(flat)/2)
	for i := 0; i+1 < len(flat); i += 2 {
		m[flat[i]] = flat[i+1]
	}
	return m
}

// flag is how scripts read a boolean.
func flag(b bool) string {
	if b {
		return "1"
	}
	return ""
}
