/** Rows of keys, and the same keys with shift. */
type Layout = { rows: readonly string[]; shifted: readonly string[] }

const layouts: readonly Layout[] = [
  {
    rows: ['`1234567890-=', ' qwertyuiop[]\\', " asdfghjkl;'", ' zxcvbnm,./'],
    shifted: ['~!@#$%^&*()_+', ' QWERTYUIOP{}|', ' ASDFGHJKL:"', ' ZXCVBNM<>?'],
  },
  {
    rows: ['^1234567890ß´', ' qwertzuiopü+', ' asdfghjklöä#', '<yxcvbnm,.-'],
    shifted: ['°!"§$%&/()=?`', ' QWERTZUIOPÜ*', " ASDFGHJKLÖÄ'", '>YXCVBNM;:_'],
  },
  {
    rows: ['²&é"\'(-è_çà)=', ' azertyuiop^$', ' qsdfghjklmù*', '<wxcvbn,;:!'],
    shifted: [' 1234567890°+', ' AZERTYUIOP¨£', ' QSDFGHJKLM%µ', '>WXCVBN?./§'],
  },
]

type Key = { row: number; column: number; isShifted: boolean }

const keysOf = ({ rows, shifted }: Layout) => {
  const keys = new Map<string, Key>()
  const add = (list: readonly string[], isShifted: boolean) => {
    for (const [row, characters] of list.entries())
      for (const [column, character] of [...characters].entries())
        if (character !== ' ' && !keys.has(character.toLowerCase()))
          keys.set(character.toLowerCase(), { row, column, isShifted })
  }
  add(rows, false)
  add(shifted, true)
  return keys
}

const keyboards = layouts.map(keysOf)

/** Costs as powers of ten. A move that repeats one of the last four moves, as in `1q2w3e` or `1qaz2wsx`, is no new choice. */
const costs = { cornerStart: 1, start: 1.7, repeated: 0.1, neighbour: 0.7, jump: 1.7, shift: 0.4 }
const rememberedMoves = 4
const shortestWalk = 3
const corners = new Set(['1', 'q', 'a', 'z', '0', 'p', 'm', 'y', '7'])

type Move = { down: number; right: number }

const isNeighbour = ({ down, right }: Move) => Math.abs(down) <= 1 && Math.abs(right) <= 1

const costOfMove = (move: Move, earlierMoves: readonly Move[]) => {
  const isRepeated = earlierMoves
    .slice(-rememberedMoves)
    .some(({ down, right }) => down === move.down && right === move.right)
  if (isRepeated) return costs.repeated
  return isNeighbour(move) ? costs.neighbour : costs.jump
}

const walksOn = (keys: ReadonlyMap<string, Key>, text: string, start: number) => {
  const walks: { end: number; cost: number }[] = []
  const moves: Move[] = []
  let last = keys.get(text.charAt(start))
  if (!last) return walks
  let isShifted = last.isShifted
  let cost = corners.has(text.charAt(start)) ? costs.cornerStart : costs.start
  for (let at = start + 1; at < text.length; at += 1) {
    const key = keys.get(text.charAt(at))
    if (!key) break
    const move = { down: key.row - last.row, right: key.column - last.column }
    cost += costOfMove(move, moves)
    moves.push(move)
    isShifted ||= key.isShifted
    last = key
    if (moves.length + 1 >= shortestWalk) walks.push({ end: at + 1, cost: cost + (isShifted ? costs.shift : 0) })
  }
  return walks
}

/** The walks over the keyboard that begin at this index of a text in lower case, with or without shift: `1qaz@wsx`, `3e4r%t`. */
export const walksAt = (text: string, start: number) => keyboards.flatMap((keys) => walksOn(keys, text, start))
