import { readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { testProgram } from '../support/servers/programs.js'
import { ownFolder, startServer } from '../support/servers/server.js'
import { listens, makeCertificate, replaced } from '../support/site/nginx.js'

const file = fileURLToPath(new URL('../../deploy/forward-auth/Caddyfile', import.meta.url))

type Options = { port: number; plainPort: number; instance: number; application: number; tls: boolean; more?: string }

/** A real Caddy with the shipped file, which takes its addresses from the environment. */
export const startCaddy = async ({ port, plainPort, instance, application, tls, more = '' }: Options) => {
  const folder = await ownFolder('caddy')
  const certificate = await makeCertificate(folder)
  const shipped = await readFile(file, 'utf8')
  const address = '{$SITE:app.example.com} {\n\tbind {$BIND}'
  const own = `${address}\n\ttls ${folder}/fullchain.pem ${folder}/privkey.pem`
  const place = '\t\thandle {\n\t\t\troute {'
  const whole = more === '' ? shipped : replaced(shipped, [[place, more + place]])
  const site = tls ? replaced(whole, [[address, own]]) : whole
  const ports = `http_port ${plainPort}\n\thttps_port ${tls ? port : plainPort + 1}`
  await writeFile(join(folder, 'Caddyfile'), `{\n\tadmin off\n\t${ports}\n\tskip_install_trust\n}\n${site}`)
  const server = await startServer({
    command: testProgram('caddy'),
    args: ['run', '--adapter', 'caddyfile', '--config', join(folder, 'Caddyfile')],
    folder,
    env: {
      HOME: folder,
      XDG_DATA_HOME: folder,
      XDG_CONFIG_HOME: folder,
      PLAIN: `http://localhost:${plainPort}`,
      SITE: `${tls ? '' : 'http://'}localhost:${port}`,
      BIND: '127.0.0.1',
      LATCHKEY: `127.0.0.1:${instance}`,
      APPLICATION: `127.0.0.1:${application}`,
    },
    ready: () => listens(port),
  })
  return { ...server, port, certificate }
}
