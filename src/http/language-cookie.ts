import type { FastifyRequest } from 'fastify'
import { isLanguage, type Language } from '../contract/languages.js'
import type { Cookies } from './cookies.js'

/** The language that the visitor chose on one of our pages. A value that is none of our languages counts as no choice. */
export const chosenLanguage = (cookies: Cookies, request: FastifyRequest): Language | undefined => {
  const value = cookies.read(request, 'latchkey_language') ?? null
  return isLanguage(value) ? value : undefined
}
