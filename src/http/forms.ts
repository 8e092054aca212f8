import type { FastifyInstance } from 'fastify'
import { isCleanText } from '../lib/strict-json.js'
import { takesForm } from './exempt-routes.js'

/** The values of a form. A name that came twice, which RFC 6749 (3.1) forbids, is in `repeated`; `values` has its first value. */
export type Form = { values: ReadonlyMap<string, string>; repeated: readonly string[] }

/** The value of `charset` may be in quotes (RFC 9110, 5.6.6). */
export const formType = /^application\/x-www-form-urlencoded(?:; ?charset=(?:utf-8|"utf-8"))?$/i

/** Undefined if a name or a value has characters that no parameter has. A parameter without a value counts as none (RFC 6749, 3.1). */
const readForm = (text: string): Form | undefined => {
  const values = new Map<string, string>()
  const repeated: string[] = []
  for (const [name, value] of new URLSearchParams(text)) {
    // `URLSearchParams` has replaced bytes that are not UTF-8 by this character.
    if (!isCleanText(name) || !isCleanText(value) || `${name}${value}`.includes('\uFFFD')) return undefined
    if (value === '') continue
    if (values.has(name)) repeated.push(name)
    else values.set(name, value)
  }
  return { values, repeated }
}

/** Parses forms, but only on the routes of `protocolRoutes`. The size is bounded as for every body. */
export const acceptForms = (server: FastifyInstance) => {
  server.addContentTypeParser(
    'application/x-www-form-urlencoded',
    { parseAs: 'string' },
    (request, body: string, done) => {
      const form = takesForm(request) ? readForm(body) : undefined
      if (form) done(null, form)
      else done(Object.assign(new Error('The form is not acceptable'), { statusCode: 400 }))
    },
  )
}

/** The form of a request; an empty one if it had no body. */
export const formOf = ({ body }: { body: unknown }): Form =>
  (body as Form | undefined) ?? { values: new Map(), repeated: [] }
