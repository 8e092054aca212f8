// src/latchkey.ts
import { createLatchkey } from '@latchkey/verify/ssr'

export const latchkey = createLatchkey(() => ({
  publicUrl: process.env.LATCHKEY_URL ?? '',
  appUrl: process.env.APP_URL ?? '',
  jwks: true,
  revocations: { serviceKey: process.env.LATCHKEY_SERVICE_KEY ?? '' },
}))
