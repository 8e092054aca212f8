import { execFile } from 'node:child_process'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { describe, expect, it } from 'vitest'
import { parseAllDocuments } from 'yaml'
import { loadConfig } from '../../src/settings/config.js'
import { read } from '../support/project.js'

const run = promisify(execFile)
const home = fileURLToPath(new URL('../..', import.meta.url))
type Manifest = { apiVersion: string; kind: string; [field: string]: unknown }

const ofServers = ['servers.yaml', 'migrate.yaml']

/** The manifests for servers of one's own, or of these files. */
const manifests = async (names = ofServers): Promise<Manifest[]> => {
  const files = names.map((name) => `deploy/kubernetes/${name}`)
  const texts = await Promise.all(files.map(read))
  return texts.flatMap((text) => parseAllDocuments(text).map((document): Manifest => document.toJS()))
}

/** What the compiler says of the manifests with the types of Kubernetes' own API: wrong values, and fields it does not know. */
const faultsOf = async (all: Manifest[]) => {
  const folder = await mkdtemp(join(home, 'node_modules/.latchkey-manifests-'))
  const lines = all.map((manifest, at) => {
    const { apiVersion, kind } = manifest
    const group = apiVersion === 'v1' ? 'core/v1' : apiVersion.replace('.k8s.io', '')
    return `import type { ${kind} as T${at} } from 'kubernetes-types/${group}'
export const m${at}: T${at} = ${JSON.stringify(manifest)}`
  })
  try {
    await writeFile(join(folder, 'check.ts'), lines.join('\n'))
    const options = ['--noEmit', '--strict', '--skipLibCheck', '--ignoreConfig', '--pretty', 'false']
    const modules = ['--module', 'esnext', '--moduleResolution', 'bundler', '--types', '']
    await run(join(home, 'node_modules/.bin/tsc'), [...options, ...modules, join(folder, 'check.ts')])
    return ''
  } catch (error) {
    return error instanceof Error && 'stdout' in error ? String(error.stdout) : String(error)
  } finally {
    await rm(folder, { recursive: true, force: true })
  }
}

describe('the Kubernetes manifests', () => {
  it('are what the API of Kubernetes takes, and have no field that it does not know', async () => {
    const all = await manifests()
    const kinds = ['ConfigMap', 'Deployment', 'Service', 'PodDisruptionBudget', 'NetworkPolicy', 'NetworkPolicy', 'Job']
    expect(all.map(({ kind }) => kind)).toEqual(kinds)
    const short = await manifests(['latchkey.yaml'])
    expect(short.map(({ kind }) => kind)).toEqual(['PersistentVolumeClaim', 'Deployment', 'Service', 'NetworkPolicy'])
    expect(await faultsOf([...all, ...short])).toBe('')
  })

  it('let the pods connect to DNS, PostgreSQL, Redis, mail and public https only', async () => {
    type Rule = { ports: { port: number }[]; to?: { ipBlock: { cidr: string; except: string[] } }[] }
    type Policy = { policyTypes: string[]; podSelector: { matchExpressions: { values: string[] }[] }; egress: Rule[] }
    const all = await manifests()
    const { spec } = all.find(({ kind }) => kind === 'NetworkPolicy') as unknown as { spec: Policy }
    expect(spec.policyTypes).toEqual(['Egress'])
    expect(spec.egress.map(({ ports }) => ports.map(({ port }) => port))).toEqual([
      [53, 53],
      [5432, 6379, 587, 465],
      [443],
    ])
    const [ipv4] = spec.egress[2]?.to ?? []
    expect(ipv4?.ipBlock.except).toEqual(expect.arrayContaining(['10.0.0.0/8', '169.254.0.0/16', '192.168.0.0/16']))
    const labels = JSON.stringify(all.filter(({ kind }) => kind === 'Deployment' || kind === 'Job'))
    for (const name of spec.podSelector.matchExpressions[0]?.values ?? ['none'])
      expect(labels).toContain(`"template":{"metadata":{"labels":{"app.kubernetes.io/name":"${name}"}`)
  })

  it.each([
    { form: 'one pod', names: ['latchkey.yaml'] },
    { form: 'servers', names: ofServers },
  ])(
    'let the ingress connect to the service and Prometheus to the metrics, and no other pod: $form',
    async ({ names }) => {
      type Rule = { ports: { port: string }[]; from: { namespaceSelector: { matchLabels: Record<string, string> } }[] }
      type Policy = { policyTypes: string[]; podSelector: { matchLabels: object }; ingress: Rule[] }
      const all = await manifests(names)
      const policies = all.filter(({ kind }) => kind === 'NetworkPolicy') as unknown as { spec: Policy }[]
      const [spec] = policies.map((policy) => policy.spec).filter(({ policyTypes }) => policyTypes.includes('Ingress'))
      const rules = spec?.ingress.map(({ ports, from }) => [
        ports.map(({ port }) => port),
        from.flatMap(({ namespaceSelector }) => Object.entries(namespaceSelector.matchLabels)),
      ])
      expect(rules).toEqual([
        [['http'], [['kubernetes.io/metadata.name', 'ingress']]],
        [['metrics'], [['kubernetes.io/metadata.name', 'monitoring']]],
      ])
      type Pods = { spec: { template: { metadata: { labels: object }; spec: { containers: { ports: object[] }[] } } } }
      const { template } = (all.find(({ kind }) => kind === 'Deployment') as unknown as Pods).spec
      expect(template.metadata.labels).toEqual(spec?.podSelector.matchLabels)
      expect(template.spec.containers.map(({ ports }) => ports)).toEqual([
        [
          { name: 'http', containerPort: 3000 },
          { name: 'metrics', containerPort: 9464 },
        ],
      ])
      // The only way to the pods that the ingress knows of.
      const services = all.filter(({ kind }) => kind === 'Service').map(({ spec: service }) => JSON.stringify(service))
      expect(services).toEqual([expect.stringContaining('"ports":[{"name":"http","port":80,"targetPort":"http"}]')])
    },
  )

  it('name the addresses that no ingress may pass on, as the guide does, and as the proxy files refuse them', async () => {
    const [list = '', other] = await Promise.all(
      ['latchkey', 'servers'].map(async (name) => {
        const text = await read(`deploy/kubernetes/${name}.yaml`)
        return /must not pass on[\s\S]*?:\n((?:# {3}\/.*\n)+)/.exec(text)?.[1]
      }),
    )
    expect(other).toBe(list)
    const named = list.match(/\/[\w/]+/g)?.map((path) => path.replace(/\/$/, ''))
    const [, section = ''] = (await read('deploy/README.md')).split('Your ingress must not pass on:')
    const [table = ''] = section.split('\n\n', 2).filter((part) => part.startsWith('|'))
    expect([...table.matchAll(/^\| `(\/[\w/]+?)\/?`/gm)].map(([, path]) => path)).toEqual(named)
    expect(named).toEqual(['/api/service', '/api/auth/admin', '/metrics'])
    expect(await read('deploy/nginx/latchkey.conf')).toContain(`location ^~ ${named?.[0]}/ {`)
    expect(await read('deploy/forward-auth/Caddyfile')).toContain(`^${named?.[1]}(?:/|$)`)
  })

  it('set no variables that look like mistyped settings', async () => {
    const all = await manifests(['latchkey.yaml', ...ofServers])
    const pods = all.filter(({ kind }) => kind === 'Deployment' || kind === 'Job')
    expect(pods.map((pod) => JSON.stringify(pod).includes('"enableServiceLinks":false'))).toEqual([true, true, true])
  })

  it('would be refused with a wrong type or a mistyped field', async () => {
    const wrong = (spec: object) => ({ apiVersion: 'v1', kind: 'Service', metadata: { name: 'x' }, spec })
    const faults = await faultsOf([wrong({ ports: [{ port: 'http' }] }), wrong({ selektor: {} })])
    expect(faults).toMatch(/Type 'string' is not assignable to type 'number'/)
    expect(faults).toMatch(/selektor.* does not exist/)
    expect(faults.match(/error TS/g)).toHaveLength(2)
  })

  it('ask /health/ready for traffic, /health/live for restarts, and give valid settings', async () => {
    const all = await manifests()
    const deployment = JSON.stringify(all.find(({ kind }) => kind === 'Deployment'))
    expect(deployment).toContain('"readinessProbe":{"httpGet":{"path":"/health/ready"')
    expect(deployment).toContain('"livenessProbe":{"httpGet":{"path":"/health/live"')
    const { data } = all.find(({ kind }) => kind === 'ConfigMap') as unknown as { data: Record<string, string> }
    const given = Object.entries(data).filter(([name]) => !name.endsWith('_FILE'))
    const secrets = {
      DATABASE_URL: 'postgres://latchkey@database/latchkey?sslmode=verify-full',
      JWT_SECRET: Array.from({ length: 96 }, (_, at) => ((at * 7) % 36).toString(36)).join(''),
    }
    const config = loadConfig({ NODE_ENV: 'production', ...secrets, ...Object.fromEntries(given) })
    expect([config.publicUrl, config.metricsPort]).toEqual(['https://app.example.com', 9464])
  })

  it('run one pod with one volume and no other setting than addresses, and replace it only after its end', async () => {
    type Container = { env: { name: string; value: string }[]; volumeMounts: object[]; securityContext: object }
    type Pod = { containers: Container[]; volumes: object[]; securityContext: object }
    type Spec = { replicas: number; strategy: object; template: { spec: Pod } }
    const all = await manifests(['latchkey.yaml'])
    const { spec } = all.find(({ kind }) => kind === 'Deployment') as unknown as { spec: Spec }
    expect(spec).toMatchObject({ replicas: 1, strategy: { type: 'Recreate' } })
    const { containers, volumes, securityContext } = spec.template.spec
    expect(volumes).toEqual([{ name: 'data', persistentVolumeClaim: { claimName: 'latchkey' } }])
    expect(securityContext).toMatchObject({ runAsNonRoot: true, fsGroupChangePolicy: 'OnRootMismatch' })
    const [container] = containers
    expect(container).toMatchObject({
      volumeMounts: [{ name: 'data', mountPath: '/data' }],
      securityContext: {
        allowPrivilegeEscalation: false,
        readOnlyRootFilesystem: true,
        capabilities: { drop: ['ALL'] },
      },
    })
    expect(JSON.stringify(container)).toContain('"readinessProbe":{"httpGet":{"path":"/health/ready"')
    const settings = Object.fromEntries(container?.env.map(({ name, value }) => [name, value]) ?? [])
    expect(Object.keys(settings)).toEqual(['PUBLIC_URL', 'TRUST_PROXY', 'METRICS_PORT'])
    expect(loadConfig({ NODE_ENV: 'production', ...settings }).ownDatabase).toBe(true)
  })
})
