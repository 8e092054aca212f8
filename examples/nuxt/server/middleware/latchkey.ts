// server/middleware/latchkey.ts
import type { Verified } from '@latchkey/verify'
import { createLatchkey } from '@latchkey/verify/ssr'

declare module 'h3' {
  interface H3EventContext {
    user?: Verified['user'] | undefined
  }
}

const latchkey = createLatchkey(() => ({
  publicUrl: process.env.LATCHKEY_URL ?? '',
  appUrl: process.env.APP_URL ?? '',
  jwks: true,
  revocations: { serviceKey: process.env.LATCHKEY_SERVICE_KEY ?? '' },
}))
const forEveryone = latchkey.guard({ optional: true })
const forUsers = latchkey.guard()
/** The start page, and what Nuxt itself asks for: by the path as it came, which the router uses too. */
const isOpen = /^\/(?:$|__nuxt_error$|_nuxt\/(?!.*(?:\.\.|\\|%2e|%5c)))/i

export default defineEventHandler(async (event) => {
  // A page has asked its own server, by `useFetch`.
  if (event.context.user) return
  const { method, headers, path: url } = event
  const [pathname = ''] = url.split('?')
  const request = { method, headers, url }
  if (pathname === '/sign-out') return latchkey.signOut(request)
  const decision = await (isOpen.test(pathname) ? forEveryone : forUsers)(request)
  if (!decision.goOn) return decision.response
  event.context.user = decision.auth?.user
  for (const [name, value] of decision.answerHeaders) appendResponseHeader(event, name, value)
})
