# A program with a service key, past the proxy. docs/programs.md explains it.

# Search with a service key, which is in a file.
umask 077
printf 'authorization: Bearer %s\ncontent-type: application/json\n' "$SERVICE_KEY" > service-headers
curl -fsS -H @service-headers -d '{"search":"ada"}' http://10.0.0.5:3000/api/service/users/search

# Find one user by the address, and change it. What takes something away from a user needs a reason.
id=$(curl -fsS -H @service-headers -d '{"email":"ada@example.com"}' http://10.0.0.5:3000/api/service/users/search | sed 's/.*"id":"\([^"]*\)".*/\1/')
curl -fsS -H @service-headers -d '{"reason":"left the company"}' "http://10.0.0.5:3000/api/service/users/$id/disable"
curl -fsS -H @service-headers -d '{}' "http://10.0.0.5:3000/api/service/users/$id/enable"
rm service-headers

# Invite someone to a group, and list the invitations of this key.
umask 077
printf 'authorization: Bearer %s\n' "$SERVICE_KEY" > service-key
cat > invitation.json <<'EOF'
{"email":"eve@example.com","groups":["acme"],"invitedBy":"Ada of Acme","returnTo":"https://app.example.com/welcome"}
EOF
curl -fsS -H @service-key -H 'content-type: application/json' --data @invitation.json http://10.0.0.5:3000/api/service/invitations
curl -fsS -H @service-key 'http://10.0.0.5:3000/api/service/invitations?mine=true'
rm service-key invitation.json
