"""An application in Python, by Authlib: begins a sign-in, or finishes one with the address that its user came back to."""

import json
import os
import sys

os.environ["AUTHLIB_INSECURE_TRANSPORT"] = "true"

import requests
from authlib.common.security import generate_token
from authlib.integrations.requests_client import OAuth2Session
from authlib.jose import JsonWebKey, jwt
from authlib.oidc.core import CodeIDToken

task = json.loads(sys.argv[1])
server = requests.get(task["issuer"] + "/.well-known/openid-configuration").json()
session = OAuth2Session(
    task["id"],
    task["secret"],
    scope="openid profile email",
    redirect_uri=task["redirect"],
    code_challenge_method="S256",
)


def begin():
    kept = {"verifier": generate_token(48), "nonce": generate_token()}
    address, kept["state"] = session.create_authorization_url(
        server["authorization_endpoint"], code_verifier=kept["verifier"], nonce=kept["nonce"]
    )
    return {"address": address, "kept": kept}


def claims_of(token, **more):
    keys = JsonWebKey.import_key_set(requests.get(server["jwks_uri"]).json())
    options = {"iss": {"essential": True, "value": task["issuer"]}, "aud": {"essential": True, "value": task["id"]}}
    params = {"client_id": task["id"], "access_token": token["access_token"], **more}
    claims = jwt.decode(token["id_token"], keys, claims_cls=CodeIDToken, claims_options=options, claims_params=params)
    claims.validate(leeway=60)
    return claims


def finish():
    kept = task["kept"]
    token = session.fetch_token(
        server["token_endpoint"],
        authorization_response=task["location"],
        state=kept["state"],
        code_verifier=kept["verifier"],
    )
    claims = claims_of(token, nonce=kept["nonce"])
    userinfo = session.get(server["userinfo_endpoint"]).json()
    token = session.refresh_token(server["token_endpoint"], refresh_token=token["refresh_token"])
    renewed = claims_of(token)
    session.revoke_token(server["revocation_endpoint"], token=token["refresh_token"])
    headers = {"Authorization": "Bearer " + token["access_token"]}
    after = requests.get(server["userinfo_endpoint"], headers=headers).status_code
    return {"claims": claims, "userinfo": userinfo, "renewed": {"nonce": None, **renewed}, "after": after}


print(json.dumps({"begin": begin, "finish": finish}[task["step"]]()))
