package gitsource

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/bradleyfalzon/ghinstallation/v2"
	"github.com/pawl-dev/pawl/spec"
)

const (
	// tokenMargin is how long before its end a token is not used any more: an
	// operation must be able to finish with it.
	tokenMargin = 2 * DefaultTimeout
	maxAPI      = 1 << 20 // bytes of an answer of the API
)

// appTokens holds the token of a GitHub App's installation while it lives, an
// hour; the App's key is read for each new token and not kept. It is used by one
// operation at a time.
type appTokens struct {
	app   spec.GitHubApp
	api   string
	last  string
	until time.Time
}

// newAppTokens checks that the API is that of the source's host: the App's
// signature and its tokens go nowhere else.
func newAppTokens(app spec.GitHubApp, source *url.URL) (*appTokens, error) {
	if app.ID <= 0 || app.Installation <= 0 || app.Key == "" {
		return nil, errors.New("auth.app needs id, installation and key")
	}
	if source.Scheme != "http" && source.Scheme != "https" {
		return nil, errors.New("auth.app is for a source with an https URL")
	}
	api := app.API
	if api == "" {
		if api = source.Scheme + "://" + source.Host + "/api/v3"; strings.EqualFold(source.Host, "github.com") {
			api = "https://api.github.com"
		}
	}
	u, err := url.Parse(api)
	if err != nil || u.User != nil || u.RawQuery != "" || u.Fragment != "" {
		return nil, errors.New("auth.app.api is not the address of an API")
	}
	own := u.Scheme == source.Scheme && (strings.EqualFold(u.Host, source.Host) || strings.EqualFold(u.Host, "api."+source.Host))
	if !own {
		return nil, fmt.Errorf("auth.app.api is on %s, which is not the source's host %s", u.Host, source.Host)
	}
	return &appTokens{app: app, api: strings.TrimSuffix(api, "/")}, nil
}

// token gives one that lives long enough, asking the API if need be.
func (a *appTokens) token(ctx context.Context, r *remote, proxy *url.URL) (string, error) {
	if a.last != "" && time.Now().Before(a.until) {
		return a.last, nil
	}
	a.last = ""
	key, err := r.secrets.secret("auth.app.key", a.app.Key)
	if err != nil {
		return "", err
	}
	trip, err := r.web.trip(r, proxy, maxAPI)
	if err != nil {
		return "", err
	}
	install, err := ghinstallation.New(trip, a.app.ID, a.app.Installation, []byte(key))
	if err != nil {
		return "", errors.New("auth.app.key: what it names is no RSA private key in PEM")
	}
	install.BaseURL = a.api
	token, err := install.Token(ctx)
	if err != nil {
		return "", a.refused(err)
	}
	expires, _, err := install.Expiry()
	if err != nil {
		return "", err
	}
	if token == "" || !time.Now().Before(expires) {
		return "", errors.New("the API gave no token that is still good")
	}
	a.last, a.until = token, expires.Add(-tokenMargin)
	return token, nil
}

// refused says what the API answered. The body is released here.
func (a *appTokens) refused(err error) error {
	var answer *ghinstallation.HTTPError
	if !errors.As(err, &answer) || answer.Response == nil {
		return fmt.Errorf("token of installation %d: %w", a.app.Installation, err)
	}
	said := fmt.Errorf("%s answered %s for installation %d", a.api, answer.Response.Status, a.app.Installation)
	switch answer.Response.StatusCode {
	case http.StatusUnauthorized, http.StatusForbidden, http.StatusNotFound:
		said = fmt.Errorf("%w: %w", ErrAuth, said)
	}
	return errors.Join(said, answer.Response.Body.Close())
}

// forget drops the token after the server refused it.
func (a *appTokens) forget() {
	if a != nil {
		a.last = ""
	}
}
