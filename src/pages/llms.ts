import { applicationProperties, kindNames, settingProperties } from '../contract/configuration.js'

type Route = { method: string; url: string; summary: string }

/** The requests that a program needs first, by their addresses. Their sentences are those of the API document. */
const shownRoutes = [
  'GET /health/ready',
  'GET /api/auth/verify',
  'GET /api/auth/account',
  'POST /api/auth/register',
  'POST /api/auth/refresh',
  'POST /api/auth/logout',
  'GET /.well-known/jwks.json',
]

const keyList = (properties: object) =>
  Object.keys(properties)
    .map((name) => `\`${name}\``)
    .join(', ')

/** `latchkey.yaml` of the page. A test applies it. */
const exampleFile = `groups:
  family: {}
applications:
  Wiki:
    proxy: https://wiki.home.example
    allow: [family]
  Grafana:
    for: grafana
    id: grafana
    home: https://grafana.home.example
    allow: everyone
    secret: { env: GRAFANA_SECRET }
settings:
  registration: invited`

const lastPart = `## If something is refused

\`code\` in the body of an answer says why: docs/troubleshooting.md.

\`\`\`sh
latchkey doctor --json
\`\`\`
`

/** What a program or an agent needs to install Latchkey and to set it up, on one page: docs/llms.txt, and /llms.txt in development. */
export const llmsText = (routes: readonly Route[]) => {
  const rows = shownRoutes.flatMap((address) => {
    const route = routes.find(({ method, url }) => `${method} ${url}` === address)
    return route ? [`- \`${address}\`: ${route.summary}`] : []
  })
  return `# Latchkey

> A self-hosted authentication service: one program that signs the users of web applications in. It brings its own PostgreSQL, is an
> OpenID Connect provider, and answers reverse proxies whether a request may pass.

## Install and start

It needs Node 20.19 or later. In development it listens on http://localhost:3000, keeps its database in \`./data\`, and shows mails at
\`/dev/mailbox\`. Production sets \`NODE_ENV=production\` and \`PUBLIC_URL\`: docs/deployment.md. Settings are environment variables: docs/configuration.md.

\`\`\`sh
npm install --global latchkey
latchkey serve
\`\`\`

In another terminal, in the same folder:

\`\`\`sh
curl -fsS http://localhost:3000/health/ready
latchkey setup-link --json
\`\`\`

The link makes the first account, an administrator's, in a browser. Without a browser: \`latchkey user add\`, \`latchkey invite\`.

## Set it up with a file

\`latchkey.yaml\` says which groups, applications and settings there are: docs/configuration-files.md, docs/configuration.schema.json.

\`\`\`yaml
${exampleFile}
\`\`\`

\`\`\`sh
export GRAFANA_SECRET=a-secret-of-32-to-128-letters-and-digits
latchkey apply latchkey.yaml --plan --json # exit code 3
latchkey apply latchkey.yaml --yes --json
latchkey apply latchkey.yaml --plan --json # exit code 0
latchkey application show Grafana --json
latchkey export --json
\`\`\`

- Kinds: ${kindNames.map((name) => `\`${name}\``).join(', ')}.
- Keys of an application: ${keyList(applicationProperties)}. \`allow\` must be there.
- Settings: ${keyList(settingProperties)}.
- What the file names belongs to it: commands and pages refuse to change it (\`set_by_file\`). Without \`secret\`, a new one is printed once.
- A file that is wrong changes nothing, and the message names its line.

## Commands

Every command has \`--json\`: data on standard output, sentences on standard error. Exit codes: 0 done, 1 refused or failed, 2 used wrongly,
3 something would change (\`apply --plan\`). This describes all commands, their options and what they print:

\`\`\`sh
latchkey help --json
\`\`\`

## An application

- OpenID Connect: the discovery document is at \`/api/auth/.well-known/openid-configuration\`, the issuer is \`PUBLIC_URL/api/auth\`.
- Behind a proxy: docs/forward-auth.md has one line for Caddy, nginx, Traefik and HAProxy.
- In a program: the packages @latchkey/verify (checks tokens), @latchkey/client (browsers), @latchkey/service (service keys, webhooks).

\`\`\`sh
curl -fsS http://localhost:3000/api/auth/.well-known/openid-configuration
curl -fsS http://localhost:3000/api/openapi.json
\`\`\`

## Requests

docs/openapi.json has every request, docs/openapi-admin.json those of administrators.

${rows.join('\n')}

${lastPart}`
}
