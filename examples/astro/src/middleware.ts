// src/middleware.ts
import { defineMiddleware } from 'astro:middleware'
import { latchkey } from './latchkey'

const forEveryone = latchkey.guard({ optional: true })
const forUsers = latchkey.guard()

export const onRequest = defineMiddleware(async ({ request, url, locals }, next) => {
  if (url.pathname === '/sign-out') return next()
  // An action can be called at the address of any page.
  const isOpen = url.pathname === '/' && !url.searchParams.has('_action')
  const guard = isOpen ? forEveryone : forUsers
  const decision = await guard(request)
  if (!decision.goOn) return decision.response
  locals.user = decision.auth?.user
  return decision.finish(await next())
})
