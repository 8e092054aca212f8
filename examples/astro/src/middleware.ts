// src/middleware.ts
import { defineMiddleware } from 'astro:middleware'
import { latchkey } from './latchkey'

const forEveryone = latchkey.guard({ optional: true })
const forUsers = latchkey.guard()

export const onRequest = defineMiddleware(async ({ request, url, locals }, next) => {
  if (url.pathname === '/sign-out') return next()
  const guard = url.pathname === '/' ? forEveryone : forUsers
  const decision = await guard(request)
  if (!decision.goOn) return decision.response
  locals.user = decision.auth?.user
  return decision.finish(await next())
})
