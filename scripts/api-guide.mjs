// Writes docs/api.md: every request of the API with its guard, its limiters and one sentence, and every limiter with what it counts.

/** @typedef {import('../src/pages/api-document.routes.js').ListedRoute} ListedRoute */
/** @typedef {import('../src/http/limiters.js').LimiterRow} LimiterRow */

/** @type {(text: string) => string} */
const cell = (text) => text.replaceAll('|', '\\|')

/** @param {ListedRoute} route */
const limitersOf = ({ limiters, unlimited }) =>
  [...limiters.map((name) => `\`${name}\``), ...(unlimited === undefined ? [] : [`none: ${unlimited}`])].join(', ')

/** @param {ListedRoute} route */
const routeRow = (route) =>
  `| \`${route.method} ${route.url}\` | ${route.needs} | ${limitersOf(route)} | ${cell(route.summary)} |`

/** @type {(limit: LimiterRow['limit'], settings: Record<string, { meaning: string, fallback?: string }>) => string} */
const limitText = (limit, settings) => {
  if (typeof limit === 'string') return `\`${limit}\` (\`${settings[limit]?.fallback}\`)`
  const minutes = limit.window / 60_000
  return `${limit.maximum} in ${minutes === 60 ? '1 hour' : `${minutes} minute${minutes === 1 ? '' : 's'}`}`
}

/**
 * @param {readonly ListedRoute[]} routes
 * @param {Record<string, LimiterRow>} limiters
 * @param {Record<string, { meaning: string, fallback?: string }>} settings
 */
export const apiGuide = (routes, limiters, settings) => {
  const shownRoutes = routes.filter(({ isHidden }) => !isHidden)
  const groups = [...new Set(shownRoutes.map(({ tag }) => tag))].map((tag) => {
    const rows = shownRoutes.filter((route) => route.tag === tag).map(routeRow)
    return `## ${tag.charAt(0).toUpperCase()}${tag.slice(1)}\n\n| request | needs | limiters | what it does |\n|---|---|---|---|\n${rows.join('\n')}`
  })
  const rows = Object.entries(limiters).map(
    ([name, { limit, about }]) => `| \`${name}\` | ${limitText(limit, settings)} | ${cell(about)} |`,
  )
  return `# The API

Every request, but for those of OpenID Connect, which [have a list of their own](#openid-connect). [openapi.json](openapi.json) has the bodies, the answers and the refusals of each, [openapi-admin.json](openapi-admin.json)
those of [administrators](administrators.md), [openapi-service.json](openapi-service.json) those of [other programs](programs.md#the-service-api), as does \`/api/docs\` of the running
service; the [specification](specification.md) says what they promise. The [limiters](#limiters) are at the end.

${groups.join('\n\n')}

## OpenID Connect

For [applications](applications.md) that sign their users in here. The standards describe these requests, so they are not in openapi.json.
While there is neither an application nor a resource they answer 404. The first of them tells a program the addresses of the others.

| request | what it does |
|---|---|
| \`GET /api/auth/.well-known/openid-configuration\` | The discovery document: the other addresses, and what is supported |
| \`GET /.well-known/oauth-authorization-server/api/auth\` | The same, at the place of RFC 8414 |
| \`GET /.well-known/oauth-protected-resource/…\` | By a proxy, at the host of a [resource](agents.md): where its tokens come from (RFC 9728) |
| \`GET /api/auth/keys\` | The public keys of ID tokens, logout tokens and access tokens for resources |
| \`GET /api/auth/authorize\`, \`POST\` | The user signs in, and returns to the application with a code |
| \`POST /api/auth/token\` | A code or a refresh token for new tokens |
| \`POST /api/auth/device\` | A code for a device without a browser (RFC 8628) |
| \`GET /api/auth/userinfo\`, \`POST\` | The claims of the user, for an access token |
| \`POST /api/auth/revoke\` | Makes a refresh token with its access tokens, or one access token, worthless |
| \`GET /api/auth/end-session\`, \`POST\` | The user signs out here, and returns to the application |

## Limiters

How much is allowed, and of what. A request above the limit gets 429, unless its line says otherwise.

| limiter | limit | counts |
|---|---|---|
${rows.join('\n')}

This page is generated from the routes and from \`src/http/limiters.ts\` by \`npm run docs\`.
`
}
