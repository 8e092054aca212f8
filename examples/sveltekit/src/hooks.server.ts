// src/hooks.server.ts
import { createLatchkey } from '@latchkey/verify/ssr'
import type { Handle } from '@sveltejs/kit'
import { env } from '$env/dynamic/private'

const latchkey = createLatchkey(() => ({
  publicUrl: env.LATCHKEY_URL ?? '',
  appUrl: env.APP_URL ?? '',
  jwks: true,
  revocations: { serviceKey: env.LATCHKEY_SERVICE_KEY ?? '' },
}))
const forEveryone = latchkey.guard({ optional: true })
const forUsers = latchkey.guard()
process.once('sveltekit:shutdown', latchkey.close)

export const handle: Handle = async ({ event, resolve }) => {
  const { request, url, isDataRequest, isRemoteRequest } = event
  if (url.pathname === '/sign-out') return latchkey.signOut(request)
  // The path of a remote function is that of the page which calls it, as the browser says.
  const guard = url.pathname === '/' && !isRemoteRequest ? forEveryone : forUsers
  // A link of the browser loads the data of a page by a request of its own, with more in its address.
  const decision = await guard(request, { url, isPage: isDataRequest })
  if (!decision.goOn) return decision.response
  event.locals.user = decision.auth?.user
  return decision.finish(await resolve(event))
}
