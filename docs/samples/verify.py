"""Checks the access tokens of Latchkey, with ES256 and the published keys. Needs pyjwt[crypto]."""

import jwt

ISSUER = "https://auth.example.com"
keys = jwt.PyJWKClient(f"{ISSUER}/.well-known/jwks.json", lifespan=300, timeout=5)

def user_of(token):
    """The claims of a good access token, or None."""
    try:
        if jwt.get_unverified_header(token).get("typ") != "at+jwt":
            return None
        return jwt.decode(
            token,
            keys.get_signing_key_from_jwt(token).key,
            algorithms=["ES256"],
            issuer=ISSUER,
            audience=ISSUER,
            options={"require": ["exp", "iat", "sub", "sid"]},
            leeway=10,  # seconds, for clocks that differ
        )
    except jwt.PyJWKClientConnectionError:
        raise  # Latchkey is away: answer 503
    except jwt.PyJWTError:
        return None
