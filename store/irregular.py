"""English words whose forms no rule finds: each line is one word, the first its stem."""

from __future__ import annotations

from typing import Final

_FAMILIES: Final = """
go went gone
buy bought
bring brought
think thought
catch caught
teach taught teacher
fight fought
seek sought
get got gotten
forget forgot forgotten
give gave given gift
forgive forgave forgiven
take took taken
mistake mistook mistaken
make made
see saw seen
say said
tell told
sell sold sale
hold held
find found
know knew known
grow grew grown growth
throw threw thrown
fly flew flown flight
draw drew drawn
write wrote written
ride rode ridden
drive drove driven
rise rose risen
choose chose chosen choice
break broke broken
speak spoke spoken speech
steal stole stolen
wake woke woken
wear wore worn
tear tore torn
swear swore sworn
freeze froze frozen
fall fell fallen
eat ate eaten
beat beaten
begin began begun beginner
swim swam swum
sing sang sung song
ring rang rung
drink drank drunk
sink sank sunk
run ran
win won winner
come came
become became
meet met
feed fed
lead led
read
sit sat
stand stood
understand understood
lose lost loss
keep kept
sleep slept asleep
leave left
feel felt
deal dealt
mean meant
dream dreamt
build built
send sent
spend spent
lend lent
bend bent
pay paid payment
lay laid
hear heard
learn learnt
spell spelt
burn burnt
shoot shot
hide hid hidden
bite bit bitten
shake shook shaken
do did done
strike struck
stick stuck
dig dug
hang hung
swing swung
spin spun
bind bound
wind wound
grind ground
shine shone
child children
man men
woman women
person people
foot feet
tooth teeth
mouse mice
goose geese
life lives
wife wives
knife knives
leaf leaves
half halves
shelf shelves
self selves
wolf wolves
good better best
bad worse worst
marry marriage
decide decision
describe description
arrive arrival
analyse analysis analyze analyses
die dead death
strong strength
long length
deep depth
wide width
warm warmth
hungry hunger
angry anger
proud pride
photo photograph picture
"""

STEM_OF: Final = {form: family.split()[0] for family in _FAMILIES.strip().splitlines() for form in family.split()}
