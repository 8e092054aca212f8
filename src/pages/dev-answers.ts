import type { FastifyReply } from 'fastify'

/** The permissions of the frame around the HTML part: it may open a link that was clicked, but runs no scripts. */
export const frameSandbox = 'allow-popups allow-top-navigation-by-user-activation'

export const asPage = (reply: FastifyReply, html: string) =>
  reply.header('Cache-Control', 'no-store').type('text/html; charset=utf-8').send(html)

/** Lets the page of a mail have one frame from this site. The rest of the policy stays. */
export const allowFrame = (reply: FastifyReply) => {
  const policy = String(reply.getHeader('content-security-policy'))
  return reply.header('content-security-policy', policy.replace("frame-src 'none'", "frame-src 'self'"))
}

/** The headers of the document in the frame: no script, no form, nothing loaded but images, and an origin without our cookies. */
export const withFramedHeaders = (reply: FastifyReply) =>
  reply.headers({
    'content-security-policy': `sandbox ${frameSandbox};default-src 'none';style-src 'unsafe-inline';img-src http: https: data:;form-action 'none';frame-ancestors 'self'`,
    'x-frame-options': 'SAMEORIGIN',
    // Images load from any site, as in a mail program, but without cookies.
    'cross-origin-embedder-policy': 'credentialless',
  })
