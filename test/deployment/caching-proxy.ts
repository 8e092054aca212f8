import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { expect } from 'vitest'
import { createCookieJar } from '../support/cookie-jar.js'
import { testProgram } from '../support/servers/programs.js'
import { freePort, ownFolder, startServer } from '../support/servers/server.js'
import { createVisitor, type FrontEnd, type Visitor } from '../support/site/https-client.js'
import { listens, makeCertificate } from '../support/site/nginx.js'

/** It keeps what may be kept, for every path, and also answers that set cookies: only Cache-Control can stop it. */
const configuration = (folder: string, port: number, behind: number) => `
${process.getuid?.() === 0 ? 'user root;' : ''}
daemon off;
pid ${folder}/nginx.pid;
error_log ${folder}/nginx.error.log warn;
events { worker_connections 64; }
http {
    access_log off;
    client_body_temp_path ${folder}/body;
    proxy_temp_path ${folder}/proxy;
    fastcgi_temp_path ${folder}/fastcgi;
    uwsgi_temp_path ${folder}/uwsgi;
    scgi_temp_path ${folder}/scgi;
    proxy_cache_path ${folder}/cache keys_zone=answers:1m;
    server {
        listen 127.0.0.1:${port} ssl;
        ssl_certificate ${folder}/fullchain.pem;
        ssl_certificate_key ${folder}/privkey.pem;
        location / {
            proxy_pass https://127.0.0.1:${behind};
            proxy_ssl_server_name on;
            proxy_ssl_name localhost;
            proxy_set_header Host localhost:${behind};
            proxy_set_header Origin https://localhost:${behind};
            proxy_cache answers;
            proxy_cache_key $request_uri;
            proxy_ignore_headers Set-Cookie Vary;
            add_header X-Cache $upstream_cache_status always;
        }
    }
}
`

const startCachingProxy = async (behind: FrontEnd) => {
  const command = testProgram('nginx')
  if (!command) throw new Error('nginx is not on this machine')
  const folder = await ownFolder('cache')
  const certificate = await makeCertificate(folder)
  const port = await freePort()
  const file = join(folder, 'nginx.conf')
  await writeFile(file, configuration(folder, port, behind.port))
  const args = ['-p', folder, '-c', file, '-e', join(folder, 'nginx.error.log')]
  const server = await startServer({ command, args, folder, ready: () => listens(port), endSignal: 'SIGTERM' })
  return { ...server, port, certificate }
}

/** An answer that carries new tokens is for one person, whatever the application allows caches to do. */
export const expectNothingKeptByCaches = async (front: FrontEnd, visitor: Visitor) => {
  const cache = await startCachingProxy(front)
  try {
    const person = createVisitor(cache, undefined, createCookieJar(visitor.jar))
    const stranger = createVisitor(cache)
    const ask = async (who: Visitor) => {
      const { status, headers } = await who.get('/cached')
      const cookies = (headers['set-cookie'] ?? []).map((line) => line.split('=')[0])
      return { status, cookies: cookies.sort(), cache: headers['x-cache'] }
    }
    person.jar.delete('access_token')
    const renewed = { status: 200, cookies: ['access_token', 'refresh_token', 'theme'], cache: 'MISS' }
    expect(await ask(person)).toEqual(renewed)
    expect(await ask(stranger)).toEqual({ status: 401, cookies: [], cache: 'MISS' })
    // The cache does keep what the application says that it may keep: the two answers above were not kept for a reason.
    expect(await ask(person)).toEqual({ status: 200, cookies: ['theme'], cache: 'MISS' })
    expect(await ask(stranger)).toEqual({ status: 200, cookies: ['theme'], cache: 'HIT' })
  } finally {
    await cache.stop()
  }
}
