import { createServer, type RequestListener } from 'node:http'
import type { AddressInfo } from 'node:net'
import { serve } from '@hono/node-server'
import express from 'express'
import fastify from 'fastify'
import { Hono } from 'hono'
import Koa from 'koa'
import { expressGuard, authOf as ofExpress } from '#verify/express.js'
import { fastifyGuard, authOf as ofFastify } from '#verify/fastify.js'
import { fetchGuard } from '#verify/fetch.js'
import { honoGuard, authOf as ofHono } from '#verify/hono.js'
import { koaGuard, authOf as ofKoa } from '#verify/koa.js'
import { nodeGuard } from '#verify/node.js'
import type { GuardOptions, Verifier } from '#verify/verify.js'

/**
 * An application that says who the user is, sets a cookie of its own, and lets caches keep its answers. Where a framework
 * allows it, two guards stand behind each other, as in an area with rules of its own: they must renew the tokens once.
 */
export type GuardedApplication = { url: string; stop(): Promise<void> }
type Start = (verifier: Verifier, options?: GuardOptions) => Promise<GuardedApplication>

const ownCookie = 'theme=dark; Path=/'
const ownCaching = 'public, max-age=600'

const listen = async (handle: RequestListener): Promise<GuardedApplication> => {
  const server = createServer(handle)
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const stop = async () => {
    server.closeAllConnections()
    server.close()
  }
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, stop }
}

const startNode: Start = async (verifier, options) => {
  const guard = nodeGuard(verifier, options)
  return listen(async (request, response) => {
    const decision = await guard(request, response)
    if (!decision.goOn) return
    if (!(await guard(request, response)).goOn) throw new Error('The second guard has another opinion')
    const headers = ['Set-Cookie', ownCookie, 'Cache-Control', ownCaching, 'Content-Type', 'application/json']
    response.writeHead(200, 'Fine', headers).end(JSON.stringify({ user: decision.auth?.user.username }))
  })
}

const startExpress: Start = async (verifier, options) => {
  const app = express()
  const inner = express.Router()
  app.use('/area', expressGuard(verifier, options))
  inner.use(expressGuard(verifier, options))
  inner.get('/*path', (request, response) => {
    response.append('Set-Cookie', ownCookie).set('Cache-Control', ownCaching)
    response.json({ user: ofExpress(request).user.username })
  })
  return listen(app.use('/area', inner))
}

const startFastify: Start = async (verifier, options) => {
  const app = fastify()
  app.addHook('onRequest', fastifyGuard(verifier, options))
  app.addHook('onRequest', fastifyGuard(verifier, options))
  app.get('/*', async (request, reply) => {
    reply.header('Set-Cookie', ownCookie).header('Cache-Control', ownCaching)
    return { user: ofFastify(request).user.username }
  })
  return { url: await app.listen({ host: '127.0.0.1', port: 0 }), stop: () => app.close() }
}

const startKoa: Start = async (verifier, options) => {
  const app = new Koa()
  app.use(koaGuard(verifier, options))
  app.use(koaGuard(verifier, options))
  app.use((context) => {
    context.set({ 'Set-Cookie': ownCookie, 'Cache-Control': ownCaching })
    context.body = { user: ofKoa(context).user.username }
  })
  return listen(app.callback())
}

const startHono: Start = async (verifier, options) => {
  const app = new Hono()
  app.use(honoGuard(verifier, options))
  app.use(honoGuard(verifier, options))
  app.get('/*', (context) => {
    context.header('Set-Cookie', ownCookie)
    context.header('Cache-Control', ownCaching)
    return context.json({ user: ofHono(context).user.username })
  })
  return new Promise((resolve) => {
    // Its own Request would otherwise replace Node's for all test files of this process.
    const own = { fetch: app.fetch, hostname: '127.0.0.1', port: 0, overrideGlobalObjects: false }
    const server = serve(own, ({ port }) => {
      const stop = async () => void server.close()
      resolve({ url: `http://127.0.0.1:${port}`, stop })
    })
  })
}

/** A framework that knows requests and responses only. */
const startFetch: Start = async (verifier, options) => {
  const guard = fetchGuard(verifier, options)
  const answer = async (request: Request) => {
    const decision = await guard(request)
    if (!decision.goOn) return decision.response
    const headers = { 'Set-Cookie': ownCookie, 'Cache-Control': ownCaching }
    return decision.finish(Response.json({ user: decision.auth?.user.username }, { headers }))
  }
  return new Promise((resolve) => {
    const server = serve(
      { overrideGlobalObjects: false, fetch: answer, hostname: '127.0.0.1', port: 0 },
      ({ port }) => {
        const stop = async () => void server.close()
        resolve({ url: `http://127.0.0.1:${port}`, stop })
      },
    )
  })
}

export const frameworks: Record<string, Start> = {
  'node:http': startNode,
  Express: startExpress,
  Fastify: startFastify,
  Koa: startKoa,
  Hono: startHono,
  'the Fetch standard': startFetch,
}
