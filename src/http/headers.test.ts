import { IncomingMessage, ServerResponse } from 'node:http'
import { Socket } from 'node:net'
import helmet from 'helmet'
import { expect, it } from 'vitest'
import { securityHeaders } from './headers.js'

/** What Helmet sends when it is given the policies of the specification. */
const headersOfHelmet = (production: boolean) => {
  const request = new IncomingMessage(new Socket())
  const response = new ServerResponse(request)
  const send = helmet({
    contentSecurityPolicy: {
      useDefaults: false,
      directives: {
        defaultSrc: ["'self'"],
        scriptSrc: ["'self'", "'unsafe-inline'"],
        styleSrc: ["'self'", "'unsafe-inline'"],
        imgSrc: ["'self'", 'data:', 'https:'],
        fontSrc: ["'self'"],
        connectSrc: ["'self'"],
        mediaSrc: ["'self'"],
        objectSrc: ["'none'"],
        frameSrc: ["'none'"],
        baseUri: ["'self'"],
        formAction: ["'self'"],
        frameAncestors: ["'none'"],
        ...(production ? { upgradeInsecureRequests: [] } : {}),
      },
    },
    strictTransportSecurity: { maxAge: 31_536_000, includeSubDomains: true, preload: true },
    frameguard: { action: 'deny' },
    referrerPolicy: { policy: 'strict-origin-when-cross-origin' },
    crossOriginEmbedderPolicy: true,
    crossOriginOpenerPolicy: true,
    crossOriginResourcePolicy: { policy: 'same-site' },
  })
  send(request, response, (error) => {
    if (error) throw new Error('Helmet could not make the security headers', { cause: error })
  })
  return Object.entries(response.getHeaders()).map(([name, value]) => [name, String(value)])
}

it.each([true, false])('are those of Helmet, in its order, and no-store (production: %s)', (production) => {
  const expected = [...headersOfHelmet(production), ['cache-control', 'no-store']]
  expect(Object.entries(securityHeaders(production))).toEqual(expected)
})
