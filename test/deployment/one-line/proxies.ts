import { execFile } from 'node:child_process'
import { cp, mkdir, readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { exampleListener, ownListener, proxyLines } from '../../../src/applications/proxy-lines.js'
import { testProgram } from '../../support/servers/programs.js'
import { freePort, ownFolder, startServer } from '../../support/servers/server.js'
import { listens, makeCertificate, replaced } from '../../support/site/nginx.js'

const run = promisify(execFile)
const shipped = fileURLToPath(new URL('../../../deploy/forward-auth/', import.meta.url))
const readShipped = (name: string) => readFile(join(shipped, name), 'utf8')

/** The hosts, all on one port, and where Latchkey and the application listen. `certificate` is a folder with its two files. */
export type Place = {
  port: number
  hosts: readonly string[]
  latchkey: number
  application: number
  certificate?: string
}

/** A proxy in front of an application on several hosts, as the shipped files and the printed lines make it. */
export type RunningProxy = { stop(): Promise<void> }

/** A folder with a certificate for these hosts, as each of the proxies wants it. */
export const certificateFor = async (hosts: readonly string[]) => {
  const folder = await ownFolder('certificate')
  const chain = await makeCertificate(folder, hosts)
  await writeFile(join(folder, 'both.pem'), chain + (await readFile(join(folder, 'privkey.pem'), 'utf8')))
  return folder
}

const addressOf = (port: number) => `127.0.0.1:${port}`
export const sitesOf = ({ hosts, port, certificate }: Place) =>
  hosts.map((host) => new URL(`http${certificate ? 's' : ''}://${host}:${port}`))
/** The host of Latchkey itself. */
export const ownHost = 'auth.site.test'
export const ownSite = ({ port, certificate }: Place) => new URL(`http${certificate ? 's' : ''}://${ownHost}:${port}`)
const withAddresses = (text: string, { application, latchkey }: Place) =>
  replaced(text, [
    [exampleListener, addressOf(application)],
    [ownListener, addressOf(latchkey)],
  ])

export const startCaddy = async (place: Place): Promise<RunningProxy> => {
  const folder = await ownFolder('caddy')
  await cp(join(shipped, 'latchkey.caddyfile'), join(folder, 'latchkey.caddyfile'))
  const { once, site } = proxyLines.caddy
  const { certificate } = place
  const tls = certificate ? `\ttls ${certificate}/fullchain.pem ${certificate}/privkey.pem\n` : ''
  const parts = [once(ownSite(place)), ...sitesOf(place).map(site)]
  const sites = parts.map((part) => part.replace(' {\n', ` {\n\tbind 127.0.0.1\n${tls}`))
  const other = await freePort()
  const [plain, secure] = certificate ? [other, place.port] : [place.port, other]
  const https = certificate ? 'disable_redirects' : 'off'
  const options = `{\n\tadmin off\n\tauto_https ${https}\n\thttp_port ${plain}\n\thttps_port ${secure}\n}\n`
  await writeFile(join(folder, 'Caddyfile'), withAddresses(`${options}${sites.join('\n')}\n`, place))
  return startServer({
    command: testProgram('caddy'),
    args: ['run', '--adapter', 'caddyfile', '--config', join(folder, 'Caddyfile')],
    folder,
    env: {
      HOME: folder,
      XDG_DATA_HOME: folder,
      XDG_CONFIG_HOME: folder,
      LATCHKEY: addressOf(place.latchkey),
    },
    ready: () => listens(place.port),
  })
}

/** `inLocation`: a line that a guide adds. */
export const startNginx = async (place: Place, inLocation = ''): Promise<RunningProxy> => {
  const folder = await ownFolder('nginx')
  await mkdir(join(folder, 'snippets'))
  for (const name of ['latchkey.nginx.conf', 'latchkey.nginx-headers.conf']) {
    const text = await readShipped(name)
    const changed = name === 'latchkey.nginx.conf' ? replaced(text, [[ownListener, addressOf(place.latchkey)]]) : text
    await writeFile(join(folder, 'snippets', name), changed)
  }
  const { certificate } = place
  const files = `ssl_certificate ${certificate}/fullchain.pem;\n    ssl_certificate_key ${certificate}/privkey.pem;`
  const { once, site } = proxyLines.nginx
  const first = certificate
    ? once(ownSite(place))
    : replaced(once(ownSite(place)), [
        ['ssl default_server;', 'default_server;'],
        ['ssl_reject_handshake on;', 'return 444;'],
      ])
  const ownSites = sitesOf(place).map((each) => replaced(site(each), [['location / {', `location / { ${inLocation}`]]))
  const sites = [first, ...ownSites].map((text) => replaced(text, [['listen ', 'listen 127.0.0.1:']]))
  const temporary = ['client_body', 'proxy', 'fastcgi', 'uwsgi', 'scgi']
    .map((name) => `${name}_temp_path ${folder}/${name};`)
    .join('\n')
  const text = `${process.getuid?.() === 0 ? 'user root;' : ''}
daemon off;
worker_processes 1;
pid ${folder}/nginx.pid;
error_log ${folder}/nginx.error.log warn;
events {}
http {
${temporary}
access_log off;
${certificate ? files : ''}
${sites.join('\n')}
}
`
  await writeFile(join(folder, 'nginx.conf'), withAddresses(text, place))
  const args = ['-p', folder, '-c', join(folder, 'nginx.conf'), '-e', join(folder, 'nginx.error.log')]
  const command = testProgram('nginx')
  await run(command, [...args, '-t'])
  return startServer({ command, args, folder, ready: () => listens(place.port) })
}

export const startHaproxy = async (
  place: Place,
  luaChanges: [string | RegExp, string][] = [],
): Promise<RunningProxy> => {
  const folder = await ownFolder('haproxy')
  await writeFile(join(folder, 'latchkey.lua'), replaced(await readShipped('latchkey.lua'), luaChanges))
  const { once, site } = proxyLines.haproxy
  const parts = [once(ownSite(place)), ...sitesOf(place).map(site)].map((text) => text.split('\n\n'))
  const frontend = [
    'frontend web',
    '    mode http',
    '    timeout client 30s',
    `    bind 127.0.0.1:${place.port}${place.certificate ? ` ssl crt ${place.certificate}/both.pem` : ''}`,
    ...parts.map(([line]) => line),
  ].join('\n')
  const file = replaced(await readShipped('latchkey.haproxy.cfg'), [
    ['/etc/haproxy/latchkey.lua', join(folder, 'latchkey.lua')],
    [ownListener, addressOf(place.latchkey)],
  ])
  const text = `${frontend}\n\n${file}\n${parts.map(([, backend]) => backend).join('\n\n')}\n`
  await writeFile(join(folder, 'haproxy.cfg'), withAddresses(text, place))
  const command = testProgram('haproxy')
  const args = ['-db', '-f', join(folder, 'haproxy.cfg')]
  await run(command, ['-c', ...args])
  return startServer({ command, args, folder, ready: () => listens(place.port) })
}
