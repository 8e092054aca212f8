// proxy.ts
import { latchkey } from './latchkey'

export const proxy = latchkey.proxy({ optional: true })
export const config = { matcher: ['/((?!_next/|api/).*)'] }
