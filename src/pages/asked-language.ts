import type { FastifyRequest } from 'fastify'
import { type Language, languageAmong } from '../contract/languages.js'

const localesIn = (query: { ui_locales?: unknown; returnTo?: unknown }) => {
  if (typeof query.ui_locales === 'string') return query.ui_locales
  const [, returnToQuery] = typeof query.returnTo === 'string' ? query.returnTo.split('?') : []
  return new URLSearchParams(returnToQuery).get('ui_locales') ?? ''
}

/** The language that an application asks for, also on the pages on the way back to it. */
export const askedLanguage = ({ query }: FastifyRequest): Language | undefined => languageAmong(localesIn(query ?? {}))
