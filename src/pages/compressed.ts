import { brotliCompressSync, constants, gzipSync } from 'node:zlib'
import type { FastifyReply, FastifyRequest } from 'fastify'

/** One body in every encoding that a browser may accept. */
export type Body = { plain: Buffer; br: Buffer; gzip: Buffer }

/** A window of 64 KB, which is more than a page has. With the default of 4 MB, most of the time goes into clearing memory. */
const brotliParameters = { [constants.BROTLI_PARAM_QUALITY]: 9, [constants.BROTLI_PARAM_LGWIN]: 16 }

export const compress = (text: string): Body => {
  const plain = Buffer.from(text)
  const br = brotliCompressSync(plain, { params: brotliParameters })
  return { plain, br, gzip: gzipSync(plain, { level: 9 }) }
}

/** Sends the smallest form that the browser accepts. No page has a secret, so compression can reveal none (BREACH). */
export const sendCompressed = (request: FastifyRequest, reply: FastifyReply, body: Body) => {
  const accepts = acceptedBy(request.headers['accept-encoding'] ?? '')
  if (accepts('br')) return reply.header('content-encoding', 'br').send(body.br)
  if (accepts('gzip')) return reply.header('content-encoding', 'gzip').send(body.gzip)
  return reply.send(body.plain)
}

const acceptedBy = (header: string) => {
  const entries = header
    .toLowerCase()
    .split(',')
    .map((entry) => entry.replace(/\s/g, ''))
  // A weight of zero is a refusal (RFC 9110, 12.4.2). The order of the other weights is ignored, because the smallest form is sent.
  return (coding: string) =>
    entries.some((entry) => entry === coding || new RegExp(`^${coding};q=(1|0\\.0*[1-9])`).test(entry))
}
