// src/latchkey.ts
import { getSecret } from 'astro:env/server'
import { createLatchkey } from '@latchkey/verify/ssr'

export const latchkey = createLatchkey(() => ({
  publicUrl: getSecret('LATCHKEY_URL') ?? '',
  appUrl: getSecret('APP_URL') ?? '',
  jwks: true,
  revocations: { serviceKey: getSecret('LATCHKEY_SERVICE_KEY') ?? '' },
}))
