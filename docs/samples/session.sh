# A script that acts as a user. docs/programs.md explains it.

# Sign in. The password and the cookies are in files: other users of the machine can see the arguments of a program.
umask 077
cat > login.json <<'EOF'
{"username":"ada","password":"violet-Harbor-91-lantern"}
EOF
curl -fsS -c jar -H 'content-type: application/json' --data @login.json https://auth.example.com/api/auth/login

# -b jar sends the cookies, -c jar saves them, -f fails when the answer is an error.
curl -fsS -b jar https://auth.example.com/api/auth/me

# A request that changes something needs a CSRF token (/api/sensitive is an example that changes nothing).
csrf=$(curl -fsS -b jar -c jar https://auth.example.com/api/auth/csrf-token | sed 's/.*"csrfToken":"\([^"]*\)".*/\1/')
curl -fsS -b jar -H "x-csrf-token: $csrf" -X POST https://auth.example.com/api/sensitive

# Before each job, renew the session if needed. After a 401, sign in again.
curl -fsS -b jar -c jar 'https://auth.example.com/api/auth/verify?renew=1'

# Or renew it in any case.
curl -fsS -b jar -c jar -X POST https://auth.example.com/api/auth/refresh

# At the end, sign out.
csrf=$(curl -fsS -b jar -c jar https://auth.example.com/api/auth/csrf-token | sed 's/.*"csrfToken":"\([^"]*\)".*/\1/')
curl -fsS -b jar -c jar -H "x-csrf-token: $csrf" -X POST https://auth.example.com/api/auth/logout
rm jar login.json
