import { cookies, headers } from 'next/headers.js'
import { NextResponse } from 'next/server.js'
import { createForNext, type Latchkey, type NextOptions, type NextParts } from './next-functions.js'

export type { Latchkey, NextOptions, PageOptions, ProxyOptions, RouteOptions } from './next-functions.js'

/**
 * Everything that an application with Next needs. `readOptions` is called with the first request and not before, so `next build`
 * needs no secret.
 */
export const createLatchkey = (readOptions: () => NextOptions): Latchkey => createForNext(next, readOptions)

const next: NextParts = {
  cookies,
  headers,
  goOn: (requestHeaders) => NextResponse.next({ request: { headers: requestHeaders } }),
  // Next replaces this module by its name without the ending, which Node itself cannot find: a test of an application that only
  // imports this file does not need it.
  redirect: async (address) => (await import('next/navigation')).redirect(address),
}
