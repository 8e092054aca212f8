import type { FastifyRequest } from 'fastify'
import { isLanguage, type Language } from '../../contract/languages.js'

const localesIn = (query: { ui_locales?: unknown; returnTo?: unknown }) => {
  if (typeof query.ui_locales === 'string') return query.ui_locales
  const [, ofReturnTo] = typeof query.returnTo === 'string' ? query.returnTo.split('?') : []
  return new URLSearchParams(ofReturnTo).get('ui_locales') ?? ''
}

/** The language that an application asks for (OpenID Connect Core 1.0, 3.1.2.1), also on the pages on the way back to it. */
export const askedLanguage = ({ query }: FastifyRequest): Language | undefined =>
  localesIn((query ?? {}) as Parameters<typeof localesIn>[0])
    .slice(0, 200)
    .split(' ')
    .map((tag) => tag.toLowerCase().split('-')[0] ?? '')
    .find(isLanguage)
