// Checks the access tokens of Latchkey, with ES256 and the published keys. packages/verify/README.md has what is checked.
package auth

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"encoding/base64"
	"encoding/json"
	"errors"
	"io"
	"math/big"
	"net/http"
	"sync"
	"time"

	"github.com/golang-jwt/jwt/v5"
)

const issuer = "https://auth.example.com"

var (
	errSignedOut   = errors.New("no good access token")
	errUnavailable = errors.New("the keys cannot be read") // answer 503
	client         = &http.Client{Timeout: 5 * time.Second}
	lock           sync.Mutex
	keys           map[string]*ecdsa.PublicKey
	asked          time.Time
)

// The published keys are kept for five minutes. For an unknown key the service is asked once in 30 seconds.
func keyFor(kid string) (*ecdsa.PublicKey, error) {
	lock.Lock()
	defer lock.Unlock()
	age := time.Since(asked)
	if age > 5*time.Minute || (keys[kid] == nil && age > 30*time.Second) {
		asked = time.Now()
		if read, err := readKeys(); err == nil {
			keys = read
		}
	}
	if keys == nil {
		return nil, errUnavailable
	}
	if key := keys[kid]; key != nil {
		return key, nil
	}
	return nil, errSignedOut
}

func readKeys() (map[string]*ecdsa.PublicKey, error) {
	answer, err := client.Get(issuer + "/.well-known/jwks.json")
	if err != nil {
		return nil, err
	}
	defer answer.Body.Close()
	var set struct {
		Keys []struct{ Kty, Crv, Kid, X, Y string }
	}
	if err := json.NewDecoder(io.LimitReader(answer.Body, 64<<10)).Decode(&set); err != nil || answer.StatusCode != 200 {
		return nil, errUnavailable
	}
	read := map[string]*ecdsa.PublicKey{}
	for _, k := range set.Keys {
		x, errX := base64.RawURLEncoding.DecodeString(k.X)
		y, errY := base64.RawURLEncoding.DecodeString(k.Y)
		point := &ecdsa.PublicKey{Curve: elliptic.P256(), X: new(big.Int).SetBytes(x), Y: new(big.Int).SetBytes(y)}
		if k.Kty == "EC" && k.Crv == "P-256" && errX == nil && errY == nil && point.IsOnCurve(point.X, point.Y) {
			read[k.Kid] = point
		}
	}
	return read, nil
}

// UserOf gives the claims of a good access token. Its error is errUnavailable if that cannot be known now.
func UserOf(token string) (jwt.MapClaims, error) {
	claims := jwt.MapClaims{}
	parser := jwt.NewParser(jwt.WithValidMethods([]string{"ES256"}))
	_, err := parser.ParseWithClaims(token, claims, func(t *jwt.Token) (interface{}, error) {
		kid, _ := t.Header["kid"].(string)
		if t.Header["typ"] != "at+jwt" {
			return nil, errSignedOut
		}
		return keyFor(kid)
	})
	if errors.Is(err, errUnavailable) {
		return nil, errUnavailable
	}
	if err != nil || claims["exp"] == nil || claims["iss"] != issuer || claims["aud"] != issuer {
		return nil, errSignedOut
	}
	return claims, nil
}
