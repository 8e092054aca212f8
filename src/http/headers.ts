import { escapeHtml } from '../lib/text.js'

const contentSecurityPolicy = [
  "default-src 'self'",
  "script-src 'self' 'unsafe-inline'",
  "style-src 'self' 'unsafe-inline'",
  "img-src 'self' data: https:",
  "font-src 'self'",
  "connect-src 'self'",
  "media-src 'self'",
  "object-src 'none'",
  "frame-src 'none'",
  "base-uri 'self'",
  "form-action 'self'",
  "frame-ancestors 'none'",
]

/**
 * The security headers of every answer. A test compares them with those of the Helmet library, which is not asked at run
 * time: the headers are the same for every request. `no-store` is the rule; a route whose answer may be cached says so.
 */
export const securityHeaders = (production: boolean): Readonly<Record<string, string>> =>
  Object.freeze({
    'content-security-policy': [
      ...contentSecurityPolicy,
      // Development is served over plain HTTP, and must not be upgraded.
      ...(production ? ['upgrade-insecure-requests'] : []),
    ].join(';'),
    'cross-origin-embedder-policy': 'require-corp',
    'cross-origin-opener-policy': 'same-origin',
    'cross-origin-resource-policy': 'same-site',
    'origin-agent-cluster': '?1',
    'referrer-policy': 'strict-origin-when-cross-origin',
    'strict-transport-security': 'max-age=31536000; includeSubDomains; preload',
    'x-content-type-options': 'nosniff',
    'x-dns-prefetch-control': 'off',
    'x-download-options': 'noopen',
    'x-frame-options': 'DENY',
    'x-permitted-cross-domain-policies': 'none',
    'x-xss-protection': '0',
    'cache-control': 'no-store',
  })

/**
 * A second policy in our own pages, which need no inline script. The specification fixes the policy of the header. If there are two
 * policies, the browser applies both. With `require-trusted-types-for` no text becomes HTML or a script.
 */
export const pagePolicy = (scripts: "'self'" | "'none'") => {
  const policy = `script-src ${scripts};base-uri 'none';object-src 'none';require-trusted-types-for 'script';trusted-types 'none'`
  return `<meta http-equiv="Content-Security-Policy" content="${policy}">`
}

/**
 * Those of an access check without HSTS: some proxies copy the whole answer into that of an application, and what we say about our host
 * must not bind the hosts of others (`includeSubDomains; preload` of a host cannot be taken back for months).
 */
export const accessCheckHeaders = (production: boolean): Readonly<Record<string, string>> => {
  const { 'strict-transport-security': _, ...others } = securityHeaders(production)
  return Object.freeze(others)
}

/** The head of a page without scripts, for developers. */
export const pageHead = (title: string, style: string) => `<head>
<meta charset="utf-8">
${pagePolicy("'none'")}
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<meta name="robots" content="noindex">
<title>${escapeHtml(title)}</title>
<link rel="icon" href="data:,">
<style>${style}</style>
</head>`
