import { readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { testProgram } from '../support/servers/programs.js'
import { ownFolder, startServer } from '../support/servers/server.js'
import { listens, makeCertificate, replaced } from '../support/site/nginx.js'

const folderOfFiles = fileURLToPath(new URL('../../deploy/forward-auth/', import.meta.url))

type Options = {
  port: number
  plainPort: number
  instance: number
  application: number
  tls: boolean
  more?: string
  /** The file for an application on a host of its own: `app.` and `auth.` of this domain, and `localhost` for the application too. */
  domain?: string
}

/** A real Caddy with a shipped file, which takes its addresses from the environment. */
export const startCaddy = async (options: Options) => {
  const { port, plainPort, instance, application, tls, more = '', domain } = options
  const folder = await ownFolder('caddy')
  const names = ['localhost', ...(domain ? [`app.${domain}`, `auth.${domain}`] : [])]
  const certificate = await makeCertificate(folder, names)
  const shipped = await readFile(join(folderOfFiles, domain ? 'Caddyfile-own-host' : 'Caddyfile'), 'utf8')
  const place = '\t\thandle {\n\t\t\troute {'
  const whole = more === '' ? shipped : replaced(shipped, [[place, more + place]])
  const ownCertificate = `\n\ttls ${folder}/fullchain.pem ${folder}/privkey.pem\n\n\timport site\n`
  const site = tls ? replaced(whole, [['\n\timport site\n', ownCertificate]]) : whole
  const ports = `http_port ${plainPort}\n\thttps_port ${tls ? port : plainPort + 1}`
  await writeFile(join(folder, 'Caddyfile'), `{\n\tadmin off\n\t${ports}\n\tskip_install_trust\n}\n${site}`)
  const sites = names
    .filter((name) => !name.startsWith('auth.'))
    .map((name) => `${tls ? '' : 'http://'}${name}:${port}`)
  const server = await startServer({
    command: testProgram('caddy'),
    args: ['run', '--adapter', 'caddyfile', '--config', join(folder, 'Caddyfile')],
    folder,
    env: {
      HOME: folder,
      XDG_DATA_HOME: folder,
      XDG_CONFIG_HOME: folder,
      PLAIN: names.map((name) => `http://${name}:${plainPort}`).join(', '),
      SITE: sites.join(', '),
      ...(domain && { SIGN_IN: `https://auth.${domain}:${port}` }),
      BIND: '127.0.0.1',
      LATCHKEY: `127.0.0.1:${instance}`,
      APPLICATION: `127.0.0.1:${application}`,
    },
    ready: () => listens(port),
  })
  return { ...server, port, certificate }
}
