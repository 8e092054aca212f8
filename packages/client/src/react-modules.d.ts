// The parts of React that `react.ts` uses. The tests of this repository run it with `preact/compat`, and the example for Next.js with
// React.
declare module 'react' {
  export type ReactNode = object | string | number | bigint | boolean | null | undefined
  export type Context<Value> = { readonly Provider: (props: { value: Value; children?: ReactNode }) => ReactNode }
  export const createContext: <Value>(value: Value) => Context<Value>
  export const createElement: <Props>(
    type: (props: Props) => ReactNode,
    props: Props,
    ...children: ReactNode[]
  ) => ReactNode
  export const useContext: <Value>(context: Context<Value>) => Value
  export const useEffect: (run: () => (() => void) | undefined, dependencies: readonly unknown[]) => void
  export const useRef: <Value>(value: Value) => { current: Value }
  export const useMemo: <Value>(make: () => Value, dependencies: readonly unknown[]) => Value
  export const useSyncExternalStore: <Value>(
    subscribe: (listener: () => void) => () => void,
    read: () => Value,
    readOnServer: () => Value,
  ) => Value
}
