// src/pages/sign-out.ts
import type { APIRoute } from 'astro'
import { latchkey } from '../latchkey'

export const POST: APIRoute = ({ request }) => latchkey.signOut(request)
